// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The matrix of measurements: the median, the best or the worst of the shown cells of each pair, in seven steps of one colour.

const STEPS = 7;
const STATS = ["median", "best", "worst"];

function measurementsView(shown) {
	const name = chosenMetric(), cells = measuredCells(shown, name);

	if (!cells.length)
		return [measurementChoices(name), empty("No cell that the filters show has this measurement.", isFiltered())];
	const scale = heatScale(name, cells);
	return [measurementChoices(name), heatLegend(name, scale), matrix(cells, (own, client, server) => heatSquare(name, scale, own, client, server),
		`${DATA.measurements[name].title}: clients and servers`),
	el("p", { class: "note" }, `A value is the ${chosenStat()} of the cells of its pair that the filters show${cells.some(isImpaired) ? "" : ", without impairment"}. Enter or a click lists them.`)];
}

function chosenMetric() {
	const names = Object.keys(DATA.measurements);

	return names.includes(state.metric) ? state.metric : names[0];
}

function chosenStat() {
	return STATS.includes(state.stat) ? state.stat : STATS[0];
}

function measurementChoices(name) {
	return el("div", { class: "choices" },
		el("div", { class: "choice", role: "group", "aria-label": "Measurement" }, Object.keys(DATA.measurements).map((other) =>
			el("button", { type: "button", "aria-pressed": String(other === name), "data-metric": other }, DATA.measurements[other].title))),
		el("div", { class: "choice", role: "group", "aria-label": "Value of a pair" }, STATS.map((stat) =>
			el("button", { type: "button", "aria-pressed": String(stat === chosenStat()), "data-stat": stat }, stat))));
}

// The value of a pair. Without a known direction, best is the largest.
function statistic(name, cells) {
	const values = cells.map((cell) => cell.measurements[name]), lower = DATA.measurements[name].better === "lower";

	if (chosenStat() === "median")
		return median(values);
	return (chosenStat() === "best") === lower ? Math.min(...values) : Math.max(...values);
}

// Impaired and other cells have no common median: without a choice of impairments, those without one are shown.
function measuredCells(shown, name) {
	const cells = shown.filter((cell) => cell.measurements[name] !== undefined), clean = cells.filter((cell) => !isImpaired(cell));

	return state.impairment.size || !clean.length ? cells : clean;
}

function isImpaired(cell) {
	const { link, rules } = DATA.impairments[cell.impairment];

	return link !== "" || rules.length > 0;
}

// Logarithmic if the largest value is more than 20 times the smallest.
function heatScale(name, cells) {
	const values = [...groupBy(cells, (cell) => `${cell.client}\n${cell.server}`).values()].map((own) => statistic(name, own));
	const [least, most] = [Math.min(...values), Math.max(...values)];
	const curve = least > 0 && most / least > 20 ? Math.log : (value) => value;

	return { least, most, curve, reversed: DATA.measurements[name].better === "lower", log: curve === Math.log };
}

function heatStep(scale, value) {
	const span = scale.curve(scale.most) - scale.curve(scale.least);
	const part = span > 0 ? (scale.curve(value) - scale.curve(scale.least)) / span : 1;
	const step = Math.min(STEPS - 1, Math.floor(part * STEPS));

	return scale.reversed && span > 0 ? STEPS - 1 - step : step;
}

function heatSquare(name, scale, cells, client, server) {
	const value = statistic(name, cells);

	return el("td", { role: "gridcell", class: "heat" },
		el("button", { type: "button", tabindex: "-1", class: `heat h${heatStep(scale, value)}`, "data-pair": `${client}\n${server}`,
			"aria-label": `${client} to ${server}: ${showValue(name, value)}, ${plural(cells.length, "cell")}` },
		el("b", null, showValue(name, value)), cells.length > 1 ? el("span", { class: "n" }, `n = ${cells.length}`) : null));
}

function heatLegend(name, scale) {
	if (scale.least === scale.most)
		return null;
	const { better } = DATA.measurements[name], ends = scale.reversed ? [scale.most, scale.least] : [scale.least, scale.most];
	const steps = [];

	for (let step = 0; step < STEPS; step++)
		steps.push(el("span", { class: `heat h${step}` }));
	return el("p", { class: "heatlegend" }, el("span", null, showValue(name, ends[0])), el("span", { class: "ramp", "aria-hidden": "true" }, steps),
		el("span", null, showValue(name, ends[1])),
		el("span", { class: "note" }, `${better ? `${better} is better` : "dark is more"}; ${scale.log ? "logarithmic" : "linear"} scale`));
}

// --- the panel of a pair -----------------------------------------------------------------------------

function pairPanel(pair, shown) {
	const [client, server] = pair.split("\n"), name = chosenMetric();
	const cells = measuredCells(shown, name).filter((cell) => cell.client === client && cell.server === server)
		.sort((a, b) => b.measurements[name] - a.measurements[name]);
	const most = Math.max(...cells.map((cell) => cell.measurements[name]));

	return [el("h2", null, DATA.measurements[name].title), el("p", { class: "route" }, `${client} \u2192 ${server}`),
		el("ol", { class: "bars" }, cells.map((cell) => el("li", null,
			el("button", { type: "button", class: "link", "data-open": cell.index }, `${cell.test} / ${cell.impairment}`),
			el("span", { class: "number" }, showValue(name, cell.measurements[name])), bar(cell.measurements[name] / most))))];
}

function bar(part) {
	return svg("svg", { class: "bar", viewBox: "0 0 100 4", preserveAspectRatio: "none", "aria-hidden": "true" },
		svg("rect", { width: 100, height: 4, class: "back" }), svg("rect", { width: (part * 100).toFixed(1), height: 4, class: "front" }));
}
