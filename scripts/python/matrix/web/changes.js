// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The difference of two runs; the list of cells; the legend.

const CHANGE_ORDER = ["failures", "errors", "repairs", "others", "appeared", "disappeared"];
const CHANGE_TITLES = {
	failures: "New failures", errors: "New infrastructure errors", repairs: "Repairs", others: "Other changes of a result",
	appeared: "Appeared", disappeared: "Disappeared",
};
const SHORT = 300; // rows of a long table, until the reader asks for all
const wholeTables = new Set();

function changesView() {
	const groups = CHANGE_ORDER.map((kind) => [kind, DATA.difference[kind].filter((change) => matches(change, CHANGE_NAMES[kind]))]);
	const measured = DATA.difference.measurements.filter((change) => matches(change, BY_ID.get(change.id).change));
	const parts = groups.filter(([, list]) => list.length).map(([kind, list]) => changeSection(kind, list));

	if (measured.length)
		parts.push(section("measurements", "Measurements beyond noise", measured.length,
			longTable("measurements", ["cell", "measurement", "before", "now", "ratio", "noise up to"], measured, measuredRow)));
	return [el("p", { class: "lead" }, "Since run ", el("b", null, DATA.old.id), ` of ${day(DATA.old)}, version ${DATA.old.version} (${DATA.old.commit}).`),
		tally(groups, measured), parts.length ? parts : empty(isFiltered() ? "No change matches the filters." : "Nothing has changed.", isFiltered()),
		shifts()];
}

function tally(groups, measured) {
	const counts = [...groups.map(([kind, list]) => [kind, CHANGE_TITLES[kind], list.length]), ["measurements", "Measurements beyond noise", measured.length]];

	return el("ul", { class: "tally" }, counts.map(([kind, title, count]) =>
		el("li", { class: count ? kind : "zero", "data-tally": kind }, el("b", null, count), title.toLowerCase())));
}

function section(kind, title, count, ...content) {
	return el("section", { class: "part", "data-kind": kind }, el("h2", null, title, el("span", { class: "count" }, count)), content);
}

function changeSection(kind, list) {
	const columns = ["cell", "before", "now", "versions", "reason"].filter((column) =>
		column === "versions" ? list.some(versionChange) : column !== "reason" || list.some((change) => change.reason));

	return section(kind, CHANGE_TITLES[kind], list.length, longTable(kind, columns, list, (change) => row(...columns.map((column) => changeValue(change, column)))));
}

function changeValue(change, column) {
	switch (column) {
	case "cell": return cellName(change);
	case "before": return change.old ? badge(change.old) : "\u2013";
	case "now": return change.new ? badge(change.new) : "\u2013";
	case "versions": return versionChange(change);
	default: return sentence(change.reason);
	}
}

function cellName(change) {
	const name = [once(el("b", null, `${change.client} \u2192 ${change.server}`)), " ", once(`${change.test} / ${change.impairment}`)];

	return BY_ID.has(change.id) ? el("button", { type: "button", class: "link", "data-open": BY_ID.get(change.id).index }, name) : el("span", null, name);
}

function versionChange(change) {
	const [before, now] = change.versions;

	if (!before || !now)
		return "";
	return ["client", "server"].filter((side) => before[side] !== now[side]).map((side) => `${side} ${before[side]} \u2192 ${now[side]}`).join(", ");
}

function measuredRow(change) {
	const { better, title } = DATA.measurements[change.name] ?? { better: "", title: change.name };
	const good = better && (change.ratio > 1) === (better === "higher");

	return row(cellName(change), title, showValue(change.name, change.before), showValue(change.name, change.after),
		el("span", { class: better ? good ? "good" : "bad" : "" }, `\u00d7${digits(change.ratio)}${better ? good ? " better" : " worse" : ""}`),
		`\u00d7${digits(change.limit)}`);
}

function shifts() {
	const list = DATA.difference.shifts;

	return list.length ? section("shifts", "All cells together", list.length, el("p", { class: "note" },
		"The median of the ratios, now to before. A shift of all cells is often the machine."),
	table(["measurement", "cells", "ratio"], list.map((shift) => row(DATA.measurements[shift.name]?.title ?? shift.name, shift.cells, `\u00d7${digits(shift.ratio)}`)), "Shifts")) : null;
}

function longTable(name, heads, list, one) {
	const whole = wholeTables.has(name) || list.length <= SHORT;

	return [table(heads, (whole ? list : list.slice(0, SHORT)).map(one), name),
		whole ? null : el("button", { type: "button", class: "more", "data-whole": name }, `Show all ${list.length}`)];
}

// --- the list of cells -------------------------------------------------------------------------------

const COLUMNS = ["result", "client", "server", "test", "impairment", "seconds", "reason"];

function listView(shown) {
	if (!shown.length)
		return [empty(CELLS.length ? "No cell matches the filters." : "This run has no cells.", CELLS.length > 0)];
	return longTable("list", COLUMNS.map(sortHead), sorted(shown), listRow);
}

function sortHead(column) {
	const [name, down] = sorting();

	return el("th", { scope: "col", "aria-sort": column !== name ? null : down ? "descending" : "ascending" },
		el("button", { type: "button", class: "sort", "data-sort": column }, column));
}

function sorting() {
	const down = state.sort.startsWith("-"), name = state.sort.replace("-", "");

	return COLUMNS.includes(name) ? [name, down] : ["result", false];
}

function sorted(cells) {
	const [name, down] = sorting(), sign = down ? -1 : 1;
	const key = name === "result" ? (cell) => WORST_FIRST.indexOf(cell.result) : (cell) => cell[name];

	return [...cells].sort((a, b) => sign * (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0) || a.index - b.index);
}

function listRow(cell) {
	return row(badge(cell.result), cell.client, cell.server,
		el("button", { type: "button", class: "link", "data-open": cell.index }, cell.test), cell.impairment, once(seconds(cell.seconds)), sentence(cell.reason));
}

// --- legend ------------------------------------------------------------------------------------------

const KEYS = [["/", "go to the text filter"], ["Tab", "enter and leave the matrix"], ["arrows, Home, End", "move between chips of the matrix; with Ctrl: first and last"],
	["Page Up, Page Down", "previous and next client"], ["Enter", "open a cell"], ["Esc", "close the panel"], ["n, p", "next and previous failure or error"]];

function legendView() {
	const tests = Object.entries(DATA.tests).map(([name, test]) =>
		row(el("span", { class: "code" }, DATA.codes[name]), once(name), test.title, test.transport, test.operation, optionsOf(test)));
	const impairments = Object.entries(DATA.impairments).map(([name, impairment]) =>
		row(once(el("b", null, name)), impairment.title, impairment.link, impairment.rules.map((rule) => el("code", { class: "rule" }, rule)), impairment.expect, impairment.clause));
	const implementations = Object.entries(DATA.implementations).map(([name, it]) =>
		row(once(el("b", null, name)), it.title, it.version, it.kind, it.roles.join(", "), it.unavailable ? `Not run: ${it.unavailable}` : it.about));

	return [section("tests", "Tests", tests.length, table(["code", "test", "what", "transport", "operation", "options"], tests, "Tests")),
		section("implementations", "Implementations", implementations.length,
			table(["name", "title", "version", "kind", "roles", "about"], implementations, "Implementations")),
		section("impairments", "Impairments", impairments.length, table(["name", "what", "link", "rules", "expected", "clause"], impairments, "Impairments")),
		section("keys", "Keys", KEYS.length, table(["key", "does"], KEYS.map(([key, does]) => row(el("kbd", null, key), does)), "Keys"))];
}
