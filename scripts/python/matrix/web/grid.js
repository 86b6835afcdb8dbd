// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The matrix of clients and servers, one chip for each cell of the run, and its keyboard.

function resultsView(shown) {
	if (!CELLS.length)
		return [empty("This run has no cells."), notRun()];
	if (!shown.length)
		return [empty("No cell matches the filters.", true)];
	return [matrix(shown, square, "Results: clients and servers", true), chipLegend(), notRun()];
}

function empty(text, clear) {
	return el("div", { class: "empty" }, el("p", null, text),
		clear ? el("button", { type: "button", "data-clear": true }, "Clear the filters") : null);
}

// A grid whose squares are made by one(cells, client, server).
function matrix(cells, one, name, ratios) {
	const rows = groupBy(cells, (cell) => cell.client), used = new Set(cells.map((cell) => cell.server));
	const servers = Object.keys(DATA.implementations).filter((server) => used.has(server));
	const clients = Object.keys(DATA.implementations).filter((client) => rows.has(client));

	return el("div", { class: "scroll" }, el("table", { class: "matrix", role: "grid", "aria-label": name },
		el("thead", null, el("tr", { role: "row" }, corner(), servers.map((server) => head(server, "columnheader", "col", ratios && cells, "server")))),
		el("tbody", null, clients.map((client) => matrixRow(client, servers, rows.get(client), one, ratios)))));
}

function corner() {
	return el("th", { class: "corner", role: "columnheader", scope: "col" }, el("span", { class: "down" }, "client"), el("span", { class: "across" }, "server"));
}

function head(name, role, scope, cells, facet) {
	const implementation = DATA.implementations[name];

	return el("th", { role, scope, title: `${implementation.title}. ${implementation.about}` },
		el("span", { class: "name" }, name), el("span", { class: "below" }, el("span", { class: "version", title: implementation.version }, shortVersion(implementation.version)),
			cells ? ratio(cells.filter((cell) => cell[facet] === name)) : null));
}

// `ddp-bench (iwarp-tools) 0.1.0` -> `0.1.0`; the whole text is in the panel.
function shortVersion(version) {
	return version.match(/\d+(\.\d+)+\S*/)?.[0] ?? version;
}

function ratio(cells) {
	const counts = countBy(cells, (cell) => cell.result);

	if (state.result.size)
		return el("span", { class: "ratio", title: "cells that the filters show" }, cells.length);
	return el("span", { class: "ratio", title: "passed, of those that are supported" }, `${counts.pass ?? 0}/${cells.length - (counts.unsupported ?? 0)}`);
}

function matrixRow(client, servers, cells, one, ratios) {
	const columns = groupBy(cells, (cell) => cell.server);

	return el("tr", { role: "row" }, head(client, "rowheader", "row", ratios && cells, "client"), servers.map((server) => {
		const own = columns.get(server);
		return own ? one(own, client, server) : el("td", { role: "gridcell", class: "none" }, el("span", { "aria-label": "not tested" }, "\u00b7"));
	}));
}

function square(cells) {
	const lines = groupBy(cells, (cell) => cell.impairment), names = Object.keys(DATA.impairments);
	const longest = Math.max(...[...lines.values()].map((line) => line.length));
	const columns = Math.min(16, Math.max(4, Math.ceil(Math.sqrt(longest * 2.2))));

	return el("td", { role: "gridcell" }, names.filter((name) => lines.has(name)).map((name) =>
		el("div", { class: "line" }, names.length > 1 ? el("span", { class: "impairment" }, name) : null, chips(lines.get(name).sort((a, b) => a.testIndex - b.testIndex), columns))));
}

// The size is set, so that the browser lays out only what is in sight (content-visibility in parts.css).
function chips(cells, columns) {
	const box = el("div", { class: "chips" }, cells.map(chip)), rows = Math.ceil(cells.length / columns);

	box.style.setProperty("--columns", columns);
	box.style.setProperty("--rows", rows);
	return box;
}

function chip(cell) {
	return el("button", { type: "button", class: `chip ${cell.result}${cell.change === "same" ? "" : " changed"}`, tabindex: "-1",
		"data-cell": cell.index, "aria-label": label(cell) }, cell.code);
}

function label(cell) {
	return `${DATA.tests[cell.test].title}, ${cell.client} to ${cell.server}, ${cell.impairment}: ${cell.result}${cell.reason ? ", " + cell.reason : ""}`;
}

function chipLegend() {
	const texts = { pass: "passed", fail: "failed", unsupported: "not supported by one side", error: "infrastructure error: no verdict" };

	return el("ul", { class: "legend", "aria-label": "Legend" }, WORST_FIRST.slice().reverse().map((result) =>
		el("li", null, el("span", { class: `chip ${result}`, "aria-hidden": "true" }, "W"), texts[result])),
	DATA.difference ? el("li", null, el("span", { class: "chip pass changed", "aria-hidden": "true" }, "W"), `changed since ${DATA.old.id}`) : null,
	el("li", null, `${letters()}; a number is a test, see Legend`));
}

// The letter of each operation: W write, R read.
function letters() {
	const names = groupBy(Object.keys(DATA.tests), (name) => DATA.tests[name].operation || name);

	return [...names].map(([operation, [first]]) => `${DATA.codes[first].replace(/\d+$/, "")} ${operation}`).join(", ");
}

function notRun() {
	return DATA.notRun.length ? el("div", { class: "notrun" }, el("h2", null, "Not run here", el("span", { class: "count" }, DATA.notRun.length)),
		el("dl", null, DATA.notRun.map(([name, reason]) => [el("dt", null, name), el("dd", null, reason)]))) : null;
}

// --- keyboard: one stop for Tab, arrows within -------------------------------------------------------

function gridItems(grid) {
	return [...grid.querySelectorAll("button")];
}

function enterGrid(grid) {
	const items = gridItems(grid), current = state.cell ? items.find((item) => CELLS[item.dataset.cell]?.id === state.cell) : null;

	if (items.length)
		(current ?? items[0]).tabIndex = 0;
}

function moveTo(grid, item) {
	for (const old of grid.querySelectorAll('button[tabindex="0"]'))
		old.tabIndex = -1;
	item.tabIndex = 0;
	item.focus();
	item.scrollIntoView({ block: "nearest", inline: "nearest" });
}

function gridKey(event) {
	const grid = event.target.closest('[role="grid"]'), item = event.target.closest("button");

	if (!grid || !item || event.ctrlKey && !["Home", "End"].includes(event.key))
		return;
	const next = destination(event, grid, item);
	if (next === undefined)
		return;
	event.preventDefault();
	if (next)
		moveTo(grid, next);
}

// Returns the item that a key leads to, null at an edge, undefined for other keys.
function destination(event, grid, item) {
	const items = gridItems(event.ctrlKey ? grid : item.closest("tr")), at = items.indexOf(item);

	switch (event.key) {
	case "ArrowRight": return items[at + 1] ?? null;
	case "ArrowLeft": return items[at - 1] ?? null;
	case "Home": return items[0];
	case "End": return items[items.length - 1];
	case "ArrowDown": return nearest(item, 1);
	case "ArrowUp": return nearest(item, -1);
	case "PageDown": return otherRow(item, "nextElementSibling");
	case "PageUp": return otherRow(item, "previousElementSibling");
	default: return undefined;
	}
}

function otherRow(item, sibling) {
	for (let row = item.closest("tr")[sibling]; row; row = row[sibling])
		if (row.querySelector("button"))
			return row.querySelector("button");
	return null;
}

// The item in the next line of chips above or below, as near as possible to the same column. It is in the same
// row or in the next one that has items.
function nearest(item, direction) {
	const own = item.closest("tr"), next = otherRow(item, direction > 0 ? "nextElementSibling" : "previousElementSibling")?.closest("tr");
	const items = [own, next].filter(Boolean).flatMap(gridItems);
	const from = item.getBoundingClientRect(), middle = (box) => box.left + box.width / 2;
	let best = null, bestDistance = Infinity;

	for (const other of items) {
		const box = other.getBoundingClientRect(), vertical = direction * (box.top - from.top);
		const distance = vertical * 1e4 + Math.abs(middle(box) - middle(from));
		if (vertical > from.height / 2 && distance < bestDistance)
			[best, bestDistance] = [other, distance];
	}
	return best;
}
