// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The side panel with everything about a cell, and the tooltip.

function showPanel(shown) {
	const panel = document.getElementById("panel"), cell = BY_ID.get(state.cell);

	panel.hidden = !cell && !state.pair;
	document.body.classList.toggle("with-panel", !panel.hidden);
	if (panel.hidden)
		return panel.replaceChildren();
	const parts = cell ? cellPanel(cell) : pairPanel(state.pair, shown);
	panel.setAttribute("aria-label", cell ? label(cell) : "Measurements of a pair");
	panel.replaceChildren(panelBar(cell), ...parts.filter(Boolean));
	panel.scrollTop = 0;
}

function panelBar(cell) {
	return el("div", { class: "panelbar" },
		cell ? el("button", { type: "button", "data-step": "-1", title: "Previous failure or error (p)" }, "\u2039 Failure") : null,
		cell ? el("button", { type: "button", "data-step": "1", title: "Next failure or error (n)" }, "Failure \u203a") : null,
		el("button", { type: "button", class: "close", "data-close": true, title: "Close (Esc)" }, "Close"));
}

function cellPanel(cell) {
	const test = DATA.tests[cell.test];

	return [el("h2", null, badge(cell.result), " ", test.title),
		el("p", { class: "route" }, `${cell.client} \u2192 ${cell.server}`),
		cell.reason ? el("p", { class: `reason ${cell.result}` }, cell.reason) : null,
		cell.change === "same" ? null : el("p", { class: "changednote" }, `${cell.change}, compared with ${DATA.old.id}`),
		files(cell), rerun(cell), cellFacts(cell, test), values(cell), cellHistory(cell)];
}

function files(cell) {
	const links = [cell.log ? fileLink(cell.log, "Log") : null, cell.capture ? fileLink(cell.capture, "Capture") : null].filter(Boolean);

	return el("p", { class: "files" }, links.length ? links : el("span", { class: "note" }, "No log and no capture were kept."));
}

function rerun(cell) {
	return cell.rerun ? el("div", { class: "command" }, el("code", null, cell.rerun), copyButton(cell.rerun, "Copy")) : null;
}

function cellFacts(cell, test) {
	const impairment = DATA.impairments[cell.impairment];
	const facts = [["Test", cell.test], ["Transport", test.transport], ["Operation", test.operation], ["Options", optionsOf(test)],
		["Impairment", impairment.title === cell.impairment ? cell.impairment : `${cell.impairment}: ${impairment.title}`],
		["Link", impairment.link], ["Rules", impairment.rules.join("\n")], ["Expected", impairment.expect], ["Clause", impairment.clause],
		["Time", seconds(cell.seconds)], ["Attempts", String(cell.attempts)], ["Seed", String(cell.seed)],
		["Client", `${cell.client} ${cell.versions.client}`], ["Server", `${cell.server} ${cell.versions.server}`]];

	return el("dl", { class: "cellfacts" }, facts.filter(([, value]) => value.trim()).map(([name, value]) => [el("dt", null, name), el("dd", null, value)]));
}

function values(cell) {
	const names = Object.keys(cell.measurements);

	return names.length ? el("section", null, el("h3", null, "Measurements"), el("dl", { class: "cellfacts" }, names.map((name) =>
		[el("dt", null, DATA.measurements[name].title), el("dd", null, showValue(name, cell.measurements[name]), pastValue(cell, name))]))) : null;
}

function pastValue(cell, name) {
	const change = DATA.difference?.measurements.find((other) => other.id === cell.id && other.name === name);

	return change ? el("span", { class: "note" }, ` ${showValue(name, change.before)} before, \u00d7${digits(change.ratio)}`) : null;
}

// The next (1) or previous (-1) shown cell that failed or had an error, after the open one.
function stepFailure(direction, shown) {
	const bad = shown.filter((cell) => cell.result === "fail" || cell.result === "error");
	const list = direction > 0 ? bad : bad.reverse(), at = BY_ID.get(state.cell)?.index ?? (direction > 0 ? -1 : Infinity);

	return list.find((cell) => direction * (cell.index - at) > 0) ?? list[0];
}

// --- tooltip -----------------------------------------------------------------------------------------

function showTip(item) {
	const tip = document.getElementById("tip"), cell = CELLS[item.dataset.cell];

	if (!cell)
		return hideTip();
	tip.replaceChildren(el("b", null, DATA.tests[cell.test].title),
		el("div", null, `${cell.client} \u2192 ${cell.server}, ${cell.impairment}`),
		el("div", null, badge(cell.result), ` ${seconds(cell.seconds)}${cell.change === "same" ? "" : `, ${cell.change}`}`),
		...(cell.reason ? [el("div", { class: "why" }, cell.reason)] : []),
		el("div", { class: "versions" }, `${cell.versions.client || "?"} \u2192 ${cell.versions.server || "?"}`));
	tip.hidden = false;
	item.setAttribute("aria-describedby", "tip");
	placeTip(tip, item.getBoundingClientRect());
}

function placeTip(tip, box) {
	const below = box.bottom + 6 + tip.offsetHeight < innerHeight;

	tip.style.left = `${Math.max(4, Math.min(box.left, innerWidth - tip.offsetWidth - 8))}px`;
	tip.style.top = `${below ? box.bottom + 6 : Math.max(4, box.top - tip.offsetHeight - 6)}px`;
}

function hideTip() {
	document.getElementById("tip").hidden = true;
	document.querySelector('[aria-describedby="tip"]')?.removeAttribute("aria-describedby");
}
