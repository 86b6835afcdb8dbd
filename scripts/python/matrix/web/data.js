// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The data of the page, and helpers that make elements. Data becomes text nodes and attributes, never markup.
"use strict";

const DATA = JSON.parse(document.getElementById("data").textContent);
const RESULTS = ["pass", "fail", "unsupported", "error"];
const WORST_FIRST = ["fail", "error", "unsupported", "pass"];
const TEST_INDEX = new Map(Object.keys(DATA.tests).map((name, index) => [name, index]));
const CELLS = DATA.cells.map(expand);
const BY_ID = new Map(CELLS.map((cell) => [cell.id, cell]));
const CHANGE_NAMES = {
	failures: "new failure", errors: "new error", repairs: "repaired", others: "changed otherwise",
	appeared: "appeared", disappeared: "disappeared",
};

function expand(row, index) {
	const cell = { index };

	DATA.fields.forEach((field, place) => { cell[field] = row[place]; });
	const test = DATA.tests[cell.test];
	cell.code = DATA.codes[cell.test];
	cell.testIndex = TEST_INDEX.get(cell.test);
	cell.change = "same";
	cell.haystack = [cell.id, cell.reason, test.title, test.transport, test.operation, optionsOf(test), cell.result]
		.join(" ").toLowerCase();
	return cell;
}

function markChanges() {
	for (const kind of Object.keys(CHANGE_NAMES))
		for (const change of DATA.difference?.[kind] ?? []) {
			const cell = BY_ID.get(change.id);
			if (cell)
				cell.change = CHANGE_NAMES[kind];
		}
}

function optionsOf(test) {
	return Object.entries(test.options).map(([name, value]) => `${name}=${value}`).join(" ");
}

function groupBy(list, key) {
	const groups = new Map();

	for (const item of list) {
		const name = key(item);
		if (!groups.has(name))
			groups.set(name, []);
		groups.get(name).push(item);
	}
	return groups;
}

function countBy(list, key) {
	const counts = {};

	for (const item of list)
		counts[key(item)] = (counts[key(item)] ?? 0) + 1;
	return counts;
}

function median(values) {
	const sorted = [...values].sort((a, b) => a - b);
	const middle = sorted.length >> 1;

	return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

// --- numbers -------------------------------------------------------------------------------------

function showValue(name, value) {
	const scales = DATA.measurements[name]?.scales ?? [[1, ""]];
	const [factor, unit] = scales.find((scale) => value >= scale[0]) ?? scales[scales.length - 1];

	return `${digits(value / factor)} ${unit}`.trim();
}

function digits(value) {
	return value >= 100 || value === 0 ? value.toFixed(0) : String(Number(value.toPrecision(3)));
}

function seconds(value) {
	return `${value.toFixed(value < 10 ? 2 : 1)} s`;
}

function plural(number, noun) {
	return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

function day(run) {
	return run.started.slice(0, 16).replace("T", " ");
}

// --- elements ------------------------------------------------------------------------------------

// el("button", { class: "x", onclick: f }, "text", element, ...): a property that is undefined, null
// or false is left out.
function el(tag, properties, ...children) {
	return fill(document.createElement(tag), properties, children);
}

function svg(tag, properties, ...children) {
	return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), properties, children);
}

function fill(element, properties, children) {
	for (const [name, value] of Object.entries(properties ?? {})) {
		if (value === undefined || value === null || value === false)
			continue;
		if (name.startsWith("on"))
			element.addEventListener(name.slice(2), value);
		else
			element.setAttribute(name, value === true ? "" : value);
	}
	element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== ""));
	return element;
}

// Without line breaks.
function once(...children) {
	return el("span", { class: "once" }, ...children);
}

// A text that needs some width.
function sentence(text) {
	return text ? el("span", { class: "sentence" }, text) : null;
}

function badge(result) {
	return el("span", { class: `badge ${result}` }, result);
}

function copyButton(text, label) {
	return el("button", { type: "button", class: "copy", "data-copy": text }, label ?? "Copy");
}

function table(heads, rows, name) {
	return el("div", { class: "scroll" },
		el("table", { class: "plain", "aria-label": name },
			el("thead", null, el("tr", null, heads.map((head) => head instanceof Node ? head : el("th", { scope: "col" }, head)))),
			el("tbody", null, rows)));
}

function row(...values) {
	return el("tr", null, values.map((value) => el("td", null, value ?? "")));
}

// A link to a file of the run: each part of the path is encoded, so that it cannot become an address.
function fileLink(path, label) {
	return el("a", { href: "./" + path.split("/").map(encodeURIComponent).join("/") }, label);
}
