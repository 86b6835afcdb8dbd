// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Joins the parts: draws what the state says, and changes the state on events.

let shownCells = [];
let drawn = ""; // of the main part: the fragment without what only the panel shows

function buildViews() {
	document.getElementById("views").append(...availableViews().map((view) =>
		el("button", { type: "button", role: "tab", id: `tab-${view}`, "data-view": view, "aria-controls": "main" }, VIEWS[view],
			view === "changes" ? el("span", { class: "count" }, changeCount()) : null)));
	document.getElementById("main").setAttribute("role", "tabpanel");
}

function changeCount() {
	return [...Object.keys(CHANGE_NAMES), "measurements"].reduce((sum, kind) => sum + DATA.difference[kind].length, 0);
}

function showViews() {
	for (const tab of document.querySelectorAll("#views [role=tab]")) {
		const selected = tab.dataset.view === state.view;
		tab.setAttribute("aria-selected", String(selected));
		tab.tabIndex = selected ? 0 : -1;
	}
	document.getElementById("main").setAttribute("aria-labelledby", `tab-${state.view}`);
}

function render() {
	const { shown, counts } = filtered();

	shownCells = shown;
	showViews();
	showFacets(counts, shown);
	if (drawn !== mainKey())
		renderMain();
	showPanel(shown);
	markOpen();
}

function mainKey() {
	const panelOnly = { cell: state.cell, pair: state.pair };

	Object.assign(state, { cell: "", pair: "" });
	const key = "#" + fragment() + [...wholeTables].join();
	Object.assign(state, panelOnly);
	return key;
}

function renderMain() {
	const make = { results: resultsView, measurements: measurementsView, list: listView, changes: changesView, history: historyView, legend: legendView };
	const main = document.getElementById("main");

	hideTip();
	main.replaceChildren(...[filterNote(), make[state.view](shownCells)].flat(Infinity).filter(Boolean));
	main.className = `view-${state.view}`;
	for (const grid of main.querySelectorAll('[role="grid"]'))
		enterGrid(grid);
	drawn = mainKey();
}

function markOpen() {
	document.querySelector(".open")?.classList.remove("open");
	const cell = BY_ID.get(state.cell);
	if (cell)
		document.querySelector(`#main [data-cell="${cell.index}"]`)?.classList.add("open");
}

function update(step) {
	writeFragment(step);
	render();
}

// --- opening and closing -------------------------------------------------------------------------------

let openedFrom = null;

function openCell(cell, from) {
	openedFrom = from ?? openedFrom;
	Object.assign(state, { cell: cell.id, pair: "" });
	update(true);
	document.getElementById("panel").focus({ preventScroll: true });
}

function openPair(pair, from) {
	const cells = measuredCells(shownCells, chosenMetric()).filter((cell) => `${cell.client}\n${cell.server}` === pair);

	openedFrom = from;
	Object.assign(state, cells.length === 1 ? { cell: cells[0].id, pair: "" } : { pair, cell: "" });
	update(true);
	document.getElementById("panel").focus({ preventScroll: true });
}

// The focus returns to the chip of the cell, or to what opened the panel.
function closePanel() {
	const cell = BY_ID.get(state.cell), chipOfCell = cell ? document.querySelector(`#main [data-cell="${cell.index}"]`) : null;
	const target = chipOfCell ?? (openedFrom?.isConnected ? openedFrom : document.getElementById("main"));

	Object.assign(state, { cell: "", pair: "" });
	update(true);
	const grid = target.closest('[role="grid"]');
	if (grid)
		moveTo(grid, target);
	else
		target.focus();
}

function openFailure(direction) {
	const cell = stepFailure(direction, shownCells);

	if (cell) {
		openCell(cell);
		document.querySelector(`#main [data-cell="${cell.index}"]`)?.scrollIntoView({ block: "nearest", inline: "nearest" });
	}
}

// --- events --------------------------------------------------------------------------------------------

const CLICKS = {
	view: (item) => { Object.assign(state, { view: item.dataset.view, pair: "" }); update(true); },
	facet: (item) => { toggleFacet(item.dataset.facet, item.dataset.value); update(true); },
	metric: (item) => { state.metric = item.dataset.metric; update(true); },
	stat: (item) => { state.stat = item.dataset.stat === STATS[0] ? "" : item.dataset.stat; update(true); },
	sort: (item) => { state.sort = sortAfter(item.dataset.sort); update(true); },
	whole: (item) => { wholeTables.add(item.dataset.whole); render(); document.getElementById("main").focus({ preventScroll: true }); },
	clear: () => { clearFilters(); update(true); },
	cell: (item) => openCell(CELLS[item.dataset.cell], item),
	open: (item) => openCell(CELLS[item.dataset.open], item),
	pair: (item) => openPair(item.dataset.pair, item),
	step: (item) => openFailure(Number(item.dataset.step)),
	close: () => closePanel(),
	copy: (item) => copy(item, item.dataset.copy),
	copyFrom: (item) => copy(item, document.getElementById(item.dataset.copyFrom).textContent),
	themeChoice: (item) => chooseTheme(item.dataset.themeChoice),
};

function clicked(event) {
	const item = event.target.closest("button");
	const kind = item && Object.keys(CLICKS).find((name) => item.dataset[name] !== undefined);

	if (!kind)
		return;
	CLICKS[kind](item);
	if (!item.isConnected)
		focusAgain(kind, item.dataset[kind]);
}

// The focus stays on a button that was drawn anew.
function focusAgain(kind, value) {
	if (["metric", "stat", "sort"].includes(kind))
		document.querySelector(`#main [data-${kind}="${CSS.escape(value)}"]`)?.focus();
}

function sortAfter(column) {
	const [name, down] = sorting();

	return name === column && !down ? `-${column}` : column;
}

function pressed(event) {
	const typing = event.target.closest("input");

	if (event.key === "Escape")
		escape(typing);
	else if (!typing && !event.ctrlKey && !event.altKey && !event.metaKey)
		plainKey(event);
	if (!typing)
		gridKey(event);
	tabKey(event);
}

function plainKey(event) {
	if (event.key === "/") {
		event.preventDefault();
		document.getElementById("filters-fold").open = true;
		document.getElementById("query").select();
	} else if (event.key === "n" || event.key === "p") {
		openFailure(event.key === "n" ? 1 : -1);
	}
}

function escape(typing) {
	hideTip();
	if (!document.getElementById("panel").hidden)
		closePanel();
	else
		typing?.blur();
}

// Left and right in the list of views and of colours.
function tabKey(event) {
	const group = event.target.closest("[role=tablist], [role=radiogroup]"), step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];

	if (!group || !step)
		return;
	const items = [...group.querySelectorAll("button")], next = items.at((items.indexOf(event.target) + step) % items.length);
	next.focus();
	next.click();
}

function typed(event) {
	state.q = event.target.value;
	update(false);
}

async function copy(item, text) {
	let done = true;

	try {
		await navigator.clipboard.writeText(text);
	} catch {
		done = copyBySelection(text);
	}
	const before = item.textContent;
	item.textContent = done ? "Copied" : "Not copied";
	document.getElementById("said").textContent = item.textContent;
	setTimeout(() => { item.textContent = before; }, 1500);
}

// Where the clipboard's own interface is missing or refused.
function copyBySelection(text) {
	const area = el("textarea", { class: "hidden" });
	const before = document.activeElement;

	area.value = text;
	document.body.append(area);
	area.select();
	const done = document.execCommand("copy");
	area.remove();
	before?.focus();
	return done;
}

// --- colours -------------------------------------------------------------------------------------------

function chooseTheme(choice) {
	document.documentElement.dataset.theme = choice;
	for (const item of document.querySelectorAll("[data-theme-choice]")) {
		item.setAttribute("aria-checked", String(item.dataset.themeChoice === choice));
		item.tabIndex = item.dataset.themeChoice === choice ? 0 : -1;
	}
	try {
		localStorage.setItem("interop-theme", choice);
	} catch {
		// A browser may refuse storage for files: the choice then ends with the page.
	}
}

function storedTheme() {
	try {
		return localStorage.getItem("interop-theme") ?? "auto";
	} catch {
		return "auto";
	}
}

// A failure's chip shows a sign before the code.
function sizeChips() {
	const longest = Math.max(2, ...Object.values(DATA.codes).map((code) => code.length));

	document.documentElement.style.setProperty("--chip", `${(0.95 + longest * 0.5).toFixed(2)}rem`);
}

function start() {
	markChanges();
	sizeChips();
	chooseTheme(storedTheme());
	buildViews();
	buildFacets();
	document.getElementById("filters-fold").open = !matchMedia("(max-width: 60rem)").matches;
	document.addEventListener("click", clicked);
	document.addEventListener("keydown", pressed);
	document.addEventListener("pointerover", (event) => event.target.closest("button[data-cell]") ? showTip(event.target.closest("button")) : hideTip());
	document.addEventListener("focusin", (event) => event.target.matches("button[data-cell]:focus-visible") ? showTip(event.target) : hideTip());
	document.addEventListener("scroll", hideTip, true);
	document.getElementById("query").addEventListener("input", typed);
	document.getElementById("skip").addEventListener("click", () => (document.querySelector('#main button[tabindex="0"]') ?? document.getElementById("main")).focus());
	addEventListener("popstate", load);
	load();
}

function load() {
	readFragment();
	document.getElementById("query").value = state.q;
	render();
}

start();
