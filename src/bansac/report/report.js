"use strict";

// What the page shows: the data (match or point i has the index i everywhere) and the frames of the run.

const data = JSON.parse(document.getElementById("data").textContent);
const element = (id) => document.getElementById(id);
const bytes = (text) => (text === null ? null : Uint8Array.from(atob(text), (c) => c.charCodeAt(0)));
const floats = (text) => (text === null ? null : new Float32Array(bytes(text).buffer));
const bit = (mask, i) => (mask[i >> 3] >> (i & 7)) & 1;

const count = data.count;
const points = data.points.map((text) => new Float64Array(bytes(text).buffer));
const panels = data.panels;
const residuals = floats(data.residuals);
const posterior = floats(data.posterior);
const beliefs = floats(data.beliefs);
const inliers = bytes(data.inliers);
const frames = data.frames;
const frameBeliefs = frames && bytes(frames.beliefs);
const frameInliers = frames && bytes(frames.inliers);

// The step after the last frame is the answer: the refined model of the best round.
const ANSWER = frames ? frames.at.length : 0;

const NOUN = points.length === 2 ? "match" : "point";
const NOUNS = points.length === 2 ? "matches" : "points";
const MANY = 300; // from which points are clearer than lines
const REACH = 12; // pixels from the pointer to a datum
const BINS = 64; // colours
const DARKEN = "rgba(0, 0, 0, 0.3)";
const PANEL = "#30353a";
const GAP = 12;
const NARROW = 640; // panels are below one another
const FRAME_TIME = 110; // milliseconds

const state = { step: ANSWER, colour: "inliers", chosen: false, lines: true, selected: -1, playing: 0 };
let shown = [];
let ends = new Float32Array(0); // x, y of every point on the canvas: those of panel 0, then those of panel 1

function beliefOf(i) {
  return state.step === ANSWER ? beliefs[i] : frameBeliefs[state.step * count + i] / 255;
}

function isInlier(i) {
  return state.step === ANSWER ? bit(inliers, i) : bit(frameInliers, state.step * count + i);
}

function valueOf(i) {
  if (state.colour === "posterior") return posterior[i];
  return state.colour === "belief" ? beliefOf(i) : isInlier(i);
}

function filter() {
  const [low, high] = [element("low"), element("high")].map((input) => Number(input.value)).sort((a, b) => a - b);
  const wanted = [element("show-outliers").checked, element("show-inliers").checked];
  shown = [];
  for (let i = 0; i < count; i++) {
    const value = valueOf(i);
    if (wanted[isInlier(i)] && value >= low - 1e-6 && value <= high + 1e-6) shown.push(i);
  }
  element("range").textContent = `${low.toFixed(2)} to ${high.toFixed(2)}`;
  element("shown").textContent = `${shown.length} of ${count} ${NOUNS} shown`;
}

// Colours: red to blue by way of pale yellow, as in the figures of bansac.plotting.

const rgb = data.colors.map((text) => [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16)));
const colours = Array.from({ length: BINS }, (_, bin) => {
  const at = (bin / (BINS - 1)) * (rgb.length - 1);
  const k = Math.min(Math.floor(at), rgb.length - 2);
  const mixed = rgb[k].map((from, c) => Math.round(from + (at - k) * (rgb[k + 1][c] - from)));
  return `rgb(${mixed.join(" ")})`;
});
const themed = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// The picture.

function aspect(panel) {
  const ratio = panel.extent[0] / panel.extent[1];
  return panel.image ? ratio : Math.min(Math.max(ratio, 0.6), 2);
}

function place() {
  const canvas = element("picture");
  const width = canvas.parentElement.clientWidth;
  const stacked = width < NARROW && panels.length > 1;
  const tallest = Math.max(260, innerHeight * (stacked ? 0.45 : 0.66));
  let height = 0;
  if (stacked) {
    for (const panel of panels) {
      panel.height = Math.min(width / aspect(panel), tallest);
      panel.width = panel.height * aspect(panel);
      panel.left = (width - panel.width) / 2;
      panel.top = height;
      height += panel.height + GAP;
    }
    height -= GAP;
  } else {
    const gaps = GAP * (panels.length - 1);
    const total = panels.reduce((sum, panel) => sum + aspect(panel), 0);
    height = Math.min((width - gaps) / total, tallest);
    let left = (width - gaps - height * total) / 2;
    for (const panel of panels) {
      Object.assign(panel, { height, width: height * aspect(panel), left, top: 0 });
      left += panel.width + GAP;
    }
  }
  resize(canvas, width, height);
  ends = Float32Array.from(panels.flatMap((panel, k) => positions(panel, points[k])));
}

function positions(panel, x) {
  const [scaleX, scaleY] = [panel.width / panel.extent[0], panel.height / panel.extent[1]];
  const at = new Array(x.length);
  for (let i = 0; i < x.length; i += 2) {
    const down = (x[i + 1] - panel.corner[1]) * scaleY;
    at[i] = panel.left + (x[i] - panel.corner[0]) * scaleX;
    at[i + 1] = panel.top + (panel.upwards ? panel.height - down : down);
  }
  return at;
}

function resize(canvas, width, height) {
  canvas.width = Math.round(width * devicePixelRatio);
  canvas.height = Math.round(height * devicePixelRatio);
  canvas.style.height = `${height}px`;
  canvas.getContext("2d").setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
}

function draw() {
  const canvas = element("picture");
  const context = canvas.getContext("2d");
  context.clearRect(0, 0, canvas.width, canvas.height);
  for (const panel of panels) drawPanel(context, panel);
  const order = [[], []].map(() => Array.from({ length: BINS }, () => []));
  for (const i of shown) order[isInlier(i)][Math.round(valueOf(i) * (BINS - 1))].push(i);
  const density = Math.min(1, Math.max(0.2, 250 / Math.max(shown.length, 1)));
  order.forEach((bins, inlier) => {
    bins.forEach((members, bin) => {
      if (!members.length) return;
      context.strokeStyle = context.fillStyle = colours[bin];
      if (state.lines && panels.length === 2) {
        context.globalAlpha = density * (0.3 + 0.3 * inlier + (0.3 * bin) / BINS);
        context.lineWidth = inlier ? 1.5 : 0.8;
        drawLines(context, members);
      }
      context.globalAlpha = 0.9;
      drawPoints(context, members, inlier ? 2.8 : 2);
    });
  });
  context.globalAlpha = 1;
  if (state.selected >= 0) drawSelected(context, state.selected);
}

function drawPanel(context, panel) {
  context.fillStyle = panel.bitmap ? DARKEN : PANEL;
  if (panel.bitmap) context.drawImage(panel.bitmap, panel.left, panel.top, panel.width, panel.height);
  context.fillRect(panel.left, panel.top, panel.width, panel.height);
}

function drawLines(context, members) {
  context.beginPath();
  for (const i of members) {
    context.moveTo(ends[2 * i], ends[2 * i + 1]);
    context.lineTo(ends[2 * (count + i)], ends[2 * (count + i) + 1]);
  }
  context.stroke();
}

function drawPoints(context, members, radius) {
  context.beginPath();
  for (let k = 0; k < panels.length; k++) {
    for (const i of members) {
      const at = 2 * (k * count + i);
      context.moveTo(ends[at] + radius, ends[at + 1]);
      context.arc(ends[at], ends[at + 1], radius, 0, 2 * Math.PI);
    }
  }
  context.fill();
}

function drawSelected(context, i) {
  for (const [style, width] of [["#000000", 5], ["#ffffff", 2]]) {
    context.strokeStyle = style;
    context.lineWidth = width;
    if (panels.length === 2) drawLines(context, [i]);
    for (let k = 0; k < panels.length; k++) {
      context.beginPath();
      context.arc(ends[2 * (k * count + i)], ends[2 * (k * count + i) + 1], 7, 0, 2 * Math.PI);
      context.stroke();
    }
  }
}

// One datum: under the pointer, or by the arrow keys.

function nearest(x, y) {
  let [best, least] = [-1, REACH];
  for (const i of shown) {
    let distance = Infinity;
    for (let k = 0; k < panels.length; k++) {
      const at = 2 * (k * count + i);
      distance = Math.min(distance, Math.hypot(ends[at] - x, ends[at + 1] - y));
    }
    if (state.lines && panels.length === 2) distance = Math.min(distance, 4 + toLine(i, x, y)); // ends first
    if (distance < least) [best, least] = [i, distance];
  }
  return best;
}

function toLine(i, x, y) {
  const [x1, y1] = [ends[2 * i], ends[2 * i + 1]];
  const [dx, dy] = [ends[2 * (count + i)] - x1, ends[2 * (count + i) + 1] - y1];
  const along = ((x - x1) * dx + (y - y1) * dy) / (dx * dx + dy * dy || 1);
  const t = Math.min(Math.max(along, 0), 1);
  return Math.hypot(x1 + t * dx - x, y1 + t * dy - y);
}

function describe() {
  const i = state.selected;
  if (i < 0) {
    element("datum").textContent = `Point at a ${NOUN}, or use the arrow keys in the picture, to see its numbers.`;
    return;
  }
  const places = points.map((x) => `(${x[2 * i].toFixed(2)}, ${x[2 * i + 1].toFixed(2)})`);
  const parts = [`${NOUN} ${i}: ${places.join(" to ")}`];
  parts.push(`residual ${Number.isFinite(residuals[i]) ? residuals[i].toPrecision(4) : "not determined"}`);
  if (posterior) parts.push(`posterior ${posterior[i].toFixed(3)}`);
  if (beliefs) parts.push(`belief ${beliefOf(i).toFixed(3)}`);
  parts.push((isInlier(i) ? "inlier" : "outlier") + (state.step === ANSWER ? "" : " of the best model so far"));
  element("datum").textContent = parts.join(", ");
}

function select(i) {
  if (i === state.selected) return;
  state.selected = i;
  describe();
  draw();
}

function selectByKey(event) {
  const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
  if (event.key === "Escape") {
    select(-1);
  } else if (event.key in steps && shown.length) {
    const at = shown.indexOf(state.selected);
    const next = at < 0 && steps[event.key] < 0 ? shown.length - 1 : at + steps[event.key];
    select(shown[(next + shown.length) % shown.length]);
    event.preventDefault();
  }
}

// The run.

function stepWords() {
  if (state.step === ANSWER) return `answer, after ${data.iterations} iterations`;
  const [at, round] = [frames.at[state.step], frames.round[state.step]];
  return at ? `iteration ${at} of ${frames.at[ANSWER - 1]}, round ${round}` : "start";
}

function showCounters() {
  const k = Math.min(state.step, ANSWER - 1);
  const number = (name, missing, write = String) => {
    const value = frames.counters[name][k];
    return value === null ? missing : write(value);
  };
  const percent = (share) => `${(100 * share).toFixed(1)} %`;
  const whole = (value) => Math.ceil(value).toLocaleString("en");
  const rows = {
    "Best model: inliers": number("best_inliers", "no model"),
    "Best model: outliers": number("outliers", "no model"),
    "Improbable data": number("low_probability", "0"),
    "This model: inliers": number("inlier_ratio", "no model", percent),
    "This model: gamma": number("gamma", "no update", (value) => value.toFixed(3)),
    "Iterations required": number("required_iterations", "no bound", whole),
  };
  element("counters").replaceChildren(
    ...Object.entries(rows).map(([name, text]) => {
      const [row, term, value] = ["div", "dt", "dd"].map((tag) => document.createElement(tag));
      term.textContent = name;
      value.textContent = text;
      row.append(term, value);
      return row;
    }),
  );
}

function drawCourse() {
  const canvas = element("course");
  const [width, height] = [canvas.clientWidth, 130];
  resize(canvas, width, height);
  const context = canvas.getContext("2d");
  const total = frames.at[ANSWER - 1];
  const acrossOf = (iteration) => 1 + (iteration / total) * (width - 2);
  const upOf = (number) => height - 2 - (number / count) * (height - 6);
  const vertical = (at, style, dashes) => {
    context.strokeStyle = style;
    context.setLineDash(dashes);
    context.beginPath();
    context.moveTo(at, 0);
    context.lineTo(at, height);
    context.stroke();
    context.setLineDash([]);
  };
  context.strokeStyle = themed("--line");
  context.strokeRect(0.5, 0.5, width - 1, height - 1);
  for (const end of frames.ends) vertical(acrossOf(end), themed("--faint"), [3, 3]);
  context.lineWidth = 2;
  for (const name of beliefs ? ["outliers", "improbable"] : ["outliers"]) {
    context.strokeStyle = themed(`--${name}`);
    context.beginPath();
    frames.course[name].forEach((number, k) => context.lineTo(acrossOf(frames.course.at[k]), upOf(number)));
    context.stroke();
  }
  vertical(acrossOf(frames.at[Math.min(state.step, ANSWER - 1)]), themed("--text"), []);
}

function go(step) {
  state.step = step;
  if (!state.chosen) setColour(step === ANSWER ? colourOfAnswer() : beliefs ? "belief" : "inliers");
  element("step").value = step;
  element("step").setAttribute("aria-valuetext", stepWords());
  element("step-text").textContent = stepWords();
  showCounters();
  drawCourse();
  update();
}

function play(start) {
  clearInterval(state.playing);
  state.playing = 0;
  if (start) {
    if (state.step === ANSWER) go(0);
    state.playing = setInterval(() => {
      go(state.step + 1);
      if (state.step === ANSWER) play(false);
    }, FRAME_TIME);
  }
  element("play").textContent = start ? "Pause" : "Play";
  element("play").setAttribute("aria-pressed", String(start));
}

// The controls.

function colourOfAnswer() {
  return posterior ? "posterior" : beliefs ? "belief" : "inliers";
}

function setColour(colour) {
  state.colour = colour;
  document.querySelector(`input[name=colour][value=${colour}]`).checked = true;
  const names = { posterior: "posterior", belief: "belief", inliers: "outlier or inlier" };
  element("scale-name").textContent = names[colour];
}

function update() {
  filter();
  describe();
  draw();
}

function repaint() {
  place();
  draw();
  if (frames) drawCourse();
}

function connect() {
  for (const input of document.querySelectorAll("input[name=colour]")) {
    input.disabled = (input.value === "posterior" && !posterior) || (input.value === "belief" && !beliefs);
    input.addEventListener("change", () => {
      state.chosen = true;
      setColour(input.value);
      update();
    });
  }
  for (const input of document.querySelectorAll("input[name=draw]")) {
    input.checked = (input.value === "lines") === state.lines;
    input.addEventListener("change", () => {
      state.lines = input.value === "lines";
      draw();
    });
  }
  for (const id of ["show-inliers", "show-outliers", "low", "high"]) element(id).addEventListener("input", update);
  for (const type of ["pointermove", "pointerdown"]) {
    element("picture").addEventListener(type, (event) => select(nearest(event.offsetX, event.offsetY)));
  }
  element("picture").addEventListener("keydown", selectByKey);
  element("step").addEventListener("input", () => {
    play(false);
    go(Number(element("step").value));
  });
  element("play").addEventListener("click", () => play(!state.playing));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
  addEventListener("resize", repaint);
}

function start() {
  state.lines = count <= MANY;
  element("draw").hidden = panels.length < 2;
  element("scale").style.background = `linear-gradient(to right, ${data.colors.join(", ")})`;
  connect();
  setColour(colourOfAnswer());
  place();
  if (frames) {
    element("replay").hidden = false;
    element("step").max = ANSWER;
    document.querySelector(".key.improbable").hidden = !beliefs;
    go(ANSWER);
  } else {
    update();
  }
  for (const panel of panels.filter((one) => one.image)) {
    const image = new Image();
    image.onload = () => {
      panel.bitmap = image;
      repaint();
    };
    image.src = panel.image;
  }
}

start();
