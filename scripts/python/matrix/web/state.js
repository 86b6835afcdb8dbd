// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What the page shows, as the fragment of its address: a copied link opens the same view.

const FACETS = ["result", "change", "client", "server", "impairment", "test"];
const VIEWS = { results: "Results", measurements: "Measurements", list: "List", changes: "Changes", history: "History", legend: "Legend" };
const TEXTS = ["view", "q", "metric", "stat", "sort", "cell", "pair"];
const state = emptyState();

function emptyState() {
	const empty = { view: "results", q: "", metric: "", stat: "", sort: "", cell: "", pair: "" };

	for (const facet of FACETS)
		empty[facet] = new Set();
	return empty;
}

function fragment() {
	const parts = [];

	for (const name of TEXTS)
		if (state[name] && !(name === "view" && state.view === "results"))
			parts.push(`${name}=${encodeURIComponent(state[name])}`);
	for (const facet of FACETS)
		if (state[facet].size)
			parts.push(`${facet}=${[...state[facet]].map(encodeURIComponent).join(",")}`);
	return parts.length ? "#" + parts.join("&") : "";
}

function decode(text) {
	try {
		return decodeURIComponent(text);
	} catch {
		return text;
	}
}

// Unknown names and values are ignored: an old link shows what is still there.
function readFragment() {
	Object.assign(state, emptyState());
	for (const part of location.hash.slice(1).split("&")) {
		const [name, value] = [part.slice(0, part.indexOf("=")), part.slice(part.indexOf("=") + 1)];
		if (TEXTS.includes(name))
			state[name] = decode(value);
		else if (FACETS.includes(name))
			state[name] = new Set(value.split(",").map(decode).filter((item) => facetValues(name).includes(item)));
	}
	if (!availableViews().includes(state.view))
		state.view = "results";
	if (!BY_ID.has(state.cell))
		state.cell = "";
}

// step: the browser's Back returns to the state before.
function writeFragment(step) {
	const wanted = fragment();

	if (wanted === location.hash)
		return;
	history[step ? "pushState" : "replaceState"](null, "", wanted || location.pathname + location.search);
}

function availableViews() {
	return Object.keys(VIEWS).filter((view) => {
		if (view === "measurements")
			return Object.keys(DATA.measurements).length > 0;
		if (view === "changes")
			return DATA.difference !== null;
		return view !== "history" || DATA.history !== null;
	});
}
