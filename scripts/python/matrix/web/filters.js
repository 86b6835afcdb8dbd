// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Filters: a text, and buttons for each client, server, test, impairment, result and change. Within a facet, one of the
// pressed values must match; no pressed value: all match. Different facets must all match. A count is
// what the button would show with the filters of the other facets.

function facetValues(facet) {
	if (facet === "result")
		return RESULTS;
	if (facet === "change")
		return DATA.difference ? [...Object.values(CHANGE_NAMES).filter((name) => name !== "disappeared"), "same"] : [];
	if (facet === "test")
		return Object.keys(DATA.tests);
	if (facet === "impairment")
		return Object.keys(DATA.impairments);
	return Object.keys(DATA.implementations);
}

function words() {
	return state.q.toLowerCase().split(/\s+/).filter(Boolean);
}

// Returns the cells to show, and the counts of each facet.
function filtered() {
	const wanted = words(), shown = [], counts = {};

	for (const facet of FACETS)
		counts[facet] = {};
	for (const cell of CELLS) {
		if (!wanted.every((word) => cell.haystack.includes(word)))
			continue;
		const misses = FACETS.filter((facet) => state[facet].size && !state[facet].has(cell[facet]));
		if (!misses.length)
			shown.push(cell);
		for (const facet of misses.length ? misses.slice(0, misses.length === 1 ? 1 : 0) : FACETS)
			counts[facet][cell[facet]] = (counts[facet][cell[facet]] ?? 0) + 1;
	}
	return { shown, counts };
}

// For changes, which may be of cells that this run does not have.
function matches(change, kind) {
	const text = `${change.id} ${change.reason}`.toLowerCase(), values = { ...change, result: change.new, change: kind };

	return words().every((word) => text.includes(word)) && FACETS.every((facet) => !state[facet].size || state[facet].has(values[facet]));
}

function isFiltered() {
	return state.q !== "" || FACETS.some((facet) => state[facet].size > 0);
}

// For paper, where the filters are not shown.
function filterNote() {
	const parts = FACETS.filter((facet) => state[facet].size).map((facet) => `${facet}: ${[...state[facet]].join(", ")}`);

	return isFiltered() ? el("p", { class: "paper" }, `Only cells with ${[...(state.q ? [`text: ${state.q}`] : []), ...parts].join("; ")}`) : null;
}

function buildFacets() {
	const used = {}, place = document.getElementById("facets");

	for (const facet of FACETS)
		used[facet] = new Set(CELLS.map((cell) => cell[facet]));
	for (const facet of FACETS) {
		const values = facetValues(facet).filter((value) => used[facet].has(value));
		if (values.length > 1)
			place.append(facetGroup(facet, values));
	}
}

function facetGroup(facet, values) {
	return el("details", { class: "facet", open: true, "data-facet": facet },
		el("summary", null, facet[0].toUpperCase() + facet.slice(1), el("span", { class: "of" })),
		el("div", { class: "values", role: "group", "aria-label": `Filter by ${facet}` },
			values.map((value) => facetButton(facet, value))));
}

function facetButton(facet, value) {
	return el("button", { type: "button", class: "value", "aria-pressed": "false", "data-facet": facet, "data-value": value, title: facetTitle(facet, value) },
		facet === "result" ? el("span", { class: `swatch ${value}`, "aria-hidden": "true" }) : null,
		facet === "test" ? el("span", { class: "code", "aria-hidden": "true" }, DATA.codes[value]) : null,
		el("span", { class: "name" }, value), el("span", { class: "count" }));
}

function facetTitle(facet, value) {
	if (facet === "test")
		return DATA.tests[value].title;
	if (facet === "impairment")
		return DATA.impairments[value].title;
	return DATA.implementations[value]?.title ?? value;
}

function showFacets(counts, shown) {
	for (const button of document.querySelectorAll("#facets .value")) {
		const { facet, value } = button.dataset, count = counts[facet][value] ?? 0;
		button.setAttribute("aria-pressed", String(state[facet].has(value)));
		button.classList.toggle("none", count === 0);
		button.lastElementChild.textContent = count;
	}
	for (const group of document.querySelectorAll("#facets .facet")) {
		const chosen = state[group.dataset.facet].size;
		group.querySelector(".of").textContent = chosen ? `${chosen} chosen` : "";
	}
	document.getElementById("shown").textContent = isFiltered() ? `${shown.length} of ${plural(CELLS.length, "cell")}` : plural(CELLS.length, "cell");
	document.getElementById("clear").hidden = !isFiltered();
}

function toggleFacet(facet, value) {
	const chosen = state[facet];

	if (!chosen.delete(value))
		chosen.add(value);
}

function clearFilters() {
	state.q = "";
	for (const facet of FACETS)
		state[facet].clear();
	document.getElementById("query").value = "";
}
