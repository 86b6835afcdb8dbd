// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The history of cells over runs. A strip has one bar for each run, oldest first: pass is above the line, fail below it,
// an error is short and below it, unsupported is on the line, and a run without the cell is a gap.

const LETTERS = { p: "pass", f: "fail", u: "unsupported", e: "error", "-": "absent" };
const SHAPES = { p: [0, 8], f: [10, 8], e: [10, 4], u: [8, 2] };

function strip(results) {
	const width = Math.max(2, Math.min(6, Math.floor(180 / results.length))), step = width + 1;
	const image = svg("svg", { class: "strip", width: results.length * step, height: 18, role: "img", "aria-label": stripText(results) },
		svg("rect", { class: "axis", x: 0, y: 8.75, width: results.length * step, height: 0.5 }));

	[...results].forEach((letter, index) => {
		const [y, height] = SHAPES[letter] ?? [0, 0];
		if (height)
			image.append(svg("rect", { class: LETTERS[letter], x: index * step, y, width, height },
				svg("title", null, `${DATA.history.runs[index].id}: ${LETTERS[letter]}`)));
	});
	return image;
}

function stripText(results) {
	const counts = countBy([...results], (letter) => LETTERS[letter]);

	return `${plural(results.length, "run")}: ${Object.entries(counts).map(([name, count]) => `${count} ${name}`).join(", ")}`;
}

function turns(results) {
	const present = results.replaceAll("-", "");

	return [...present].filter((letter, index) => index && letter !== present[index - 1]).length;
}

function historyView(shown) {
	const changed = shown.map((cell) => [cell, DATA.history.cells[cell.id]]).filter(([, past]) => turns(past.results) > 0)
		.sort((a, b) => turns(b[1].results) - turns(a[1].results) || a[0].index - b[0].index);

	return [section("runs", "Runs", DATA.history.runs.length, table(["run", "started", "version", "results", ...WORST_FIRST],
		[...DATA.history.runs].reverse().map(runRow), "Runs")),
	section("turns", "Cells whose result has changed", changed.length, changed.length ?
		longTable("turns", ["cell", "changes", "runs, oldest first", "now", "since"], changed, turnRow) :
		empty(isFiltered() ? "None of the cells that the filters show." : "None.", isFiltered()))];
}

function runRow(run) {
	return row(once(el("b", null, run.id)), once(day(run)), once(`${run.version}${run.commit ? ` (${run.commit})` : ""}`), totalsBar(run.totals), ...WORST_FIRST.map((name) => run.totals[name]));
}

function totalsBar(totals) {
	const all = RESULTS.reduce((sum, name) => sum + totals[name], 0) || 1;
	let x = 0;

	return svg("svg", { class: "totalsbar", viewBox: "0 0 200 10", preserveAspectRatio: "none", role: "img", "aria-label": RESULTS.map((name) => `${totals[name]} ${name}`).join(", ") },
		WORST_FIRST.map((name) => {
			const width = 200 * totals[name] / all, start = x;
			x += width;
			return svg("rect", { class: name, x: start.toFixed(2), width: width.toFixed(2), height: 10 });
		}));
}

function turnRow([cell, past]) {
	const first = DATA.history.runs[past.first];

	return row(cellName(cell), turns(past.results), strip(past.results), badge(cell.result), once(`${day(first)}, ${first.id}`));
}

// --- the part of a cell's panel ------------------------------------------------------------------------

function cellHistory(cell) {
	if (!DATA.history)
		return null;
	const past = DATA.history.cells[cell.id], first = DATA.history.runs[past.first];

	return el("section", { class: "past" }, el("h3", null, "History"), strip(past.results),
		el("p", { class: "since" }, `${cell.result} since run `, el("b", null, first.id), ` of ${day(first)}, version ${first.version}`),
		Object.entries(past.values).map(([name, values]) => line(name, values)),
		el("ol", { class: "runs" }, [...past.results].map((letter, index) => runItem(letter, index, past)).reverse()));
}

function runItem(letter, index, past) {
	const run = DATA.history.runs[index];

	return el("li", { class: index === past.first ? "first" : null }, el("span", { class: "when" }, day(run)),
		letter === "-" ? el("span", { class: "absent" }, "absent") : badge(LETTERS[letter]),
		el("span", { class: "which" }, `${run.version} ${run.commit}`), index === past.first ? el("span", { class: "note" }, "first with this result") : null);
}

// A measurement over the runs. Runs without it are gaps.
function line(name, values) {
	const known = values.filter((value) => value !== null), [least, most] = [Math.min(...known), Math.max(...known)];
	const y = (value) => most > least ? 3 + 22 * (most - value) / (most - least) : 14;
	const x = (index) => values.length > 1 ? 3 + 154 * index / (values.length - 1) : 80;
	let path = "", down = false;

	values.forEach((value, index) => {
		if (value !== null)
			path += `${down ? "L" : "M"}${x(index).toFixed(1)} ${y(value).toFixed(1)}`;
		down = value !== null;
	});
	return el("figure", { class: "line" }, el("figcaption", null, DATA.measurements[name]?.title ?? name),
		svg("svg", { class: "spark", viewBox: "0 0 160 28", width: 160, height: 28, role: "img", "aria-label": `from ${showValue(name, least)} to ${showValue(name, most)}` },
			svg("path", { d: path }), values.map((value, index) => value === null ? null : svg("circle", { cx: x(index).toFixed(1), cy: y(value).toFixed(1), r: index === values.length - 1 ? 2.5 : 1.2 }))),
		el("span", { class: "range" }, most > least ? `${showValue(name, least)} \u2013 ${showValue(name, most)}` : showValue(name, most)));
}
