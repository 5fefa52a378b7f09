// The controls, the numbers of one datum, and the replay.

const NOUN = points.length === 2 ? "match" : "point";
const MANY = 300; // from which points are clearer than lines
const FRAME_TIME = 110; // milliseconds

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
  if (rival) parts.push(`${bit(rival, i) ? "inlier" : "outlier"} of the rival`);
  parts.push((isInlier(i) ? "inlier" : "outlier") + (state.step === ANSWER ? "" : " of the best model so far"));
  element("datum").textContent = parts.join(", ");
}

function select(i) {
  if (i === state.selected) return;
  state.selected = i;
  describe();
  draw();
}

// Select what is under the pointer, which is also a point in one of the images.
function point(event) {
  const [x, y] = [event.offsetX, event.offsetY];
  state.pointer = null;
  panels.forEach((panel, k) => {
    const [across, down] = [(x - panel.left) / panel.width, (y - panel.top) / panel.height];
    if (Math.min(across, down) < 0 || Math.max(across, down) > 1) return;
    const at = [across, down].map((share, c) => panel.corner[c] + share * panel.extent[c]);
    state.pointer = { panel: k, x: [...at, 1] };
  });
  const found = nearest(x, y);
  if (found === state.selected && found < 0 && fundamentals.length) draw();
  select(found);
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
  const [at, restart] = [frames.at[state.step], frames.restart[state.step]];
  return at ? `iteration ${at} of ${frames.at[ANSWER - 1]}, restart ${restart}` : "start";
}

// What the sampler learnt from the model of the iteration.
function updateWords(k) {
  if (k === ANSWER) return "no update: the refined model of the best restart";
  if (frames.counters.gamma[k] !== null) return `weight of its vote (gamma) ${frames.counters.gamma[k].toFixed(3)}`;
  return frames.at[k] && frames.counters.inlier_ratio[k] === null ? "no update: no model passed the checks" : "no update";
}

function countInliers() {
  let total = 0;
  for (let i = 0; i < count; i++) total += isInlier(i);
  return total;
}

function showCounters() {
  const k = state.step;
  const number = (name, missing, write = String) => {
    const value = frames.counters[name][Math.min(k, ANSWER - 1)];
    return value === null ? missing : write(value);
  };
  const percent = (share) => `${(100 * share).toFixed(1)} %`;
  const whole = (value) => Math.ceil(value).toLocaleString("en");
  const best = k === ANSWER ? countInliers() : null;
  const rows = {
    "Best model: inliers": best ?? number("best_inliers", "no model"),
    "Best model: outliers": best === null ? number("outliers", "no model") : count - best,
    "Improbable data": number("low_probability", "0"),
    "Iterations required": number("required_iterations", "no bound", whole),
    "This model: inliers": best === null ? number("inlier_ratio", "no model", percent) : percent(best / count),
    "This model": updateWords(k),
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
  const [width, height] = [canvas.clientWidth, 150];
  resize(canvas, width, height);
  const context = canvas.getContext("2d");
  context.font = AXIS;
  const total = frames.at[ANSWER - 1];
  const left = 10 + context.measureText(count.toLocaleString("en")).width;
  const bottom = height - 18;
  const acrossOf = (iteration) => left + (iteration / (total || 1)) * (width - left - 1);
  const upOf = (number) => bottom - 1 - (number / count) * (bottom - 8);
  const line = (from, to, style, dashes) => {
    context.strokeStyle = style;
    context.setLineDash(dashes);
    context.beginPath();
    context.moveTo(...from);
    context.lineTo(...to);
    context.stroke();
    context.setLineDash([]);
  };
  const vertical = (at, style, dashes) => line([at, 0], [at, bottom], style, dashes);
  context.fillStyle = themed("--faint");
  context.textAlign = "right";
  for (const number of ticks(0, count, 4).filter(Number.isInteger)) {
    line([left, upOf(number)], [width, upOf(number)], themed("--line"), []);
    context.fillText(number.toLocaleString("en"), left - 5, upOf(number) + 4);
  }
  for (const iteration of ticks(0, total || 1, width / 120).filter(Number.isInteger)) {
    const text = iteration.toLocaleString("en");
    const half = context.measureText(text).width / 2;
    context.fillText(text, Math.min(acrossOf(iteration) + half, width), height - 3);
  }
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
  const names = { posterior: "posterior", belief: "belief", inliers: "outlier or inlier", rival: "of the rival, of both, of the model" };
  element("scale-name").textContent = names[colour];
  element("filtered").textContent = colour === "posterior" ? "probability" : "value";
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
    element("picture").addEventListener(type, point);
  }
  element("picture").addEventListener("pointerleave", () => {
    state.pointer = null;
    draw();
  });
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
  element("rival").hidden = !rival;
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
