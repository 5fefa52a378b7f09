// The picture: where everything is, how it is drawn, and what is under the pointer.

const REACH = 12; // pixels from the pointer to a datum
const BINS = 64; // colours
const DARKEN = "rgba(0, 0, 0, 0.3)";
const PANEL = "#30353a";
const GAP = 12;
const NARROW = 640; // panels are below one another

// Red to blue by way of pale yellow, as in the figures of bansac.plotting.
const rgb = data.colors.map((text) => [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16)));
const colours = Array.from({ length: BINS }, (_, bin) => {
  const at = (bin / (BINS - 1)) * (rgb.length - 1);
  const k = Math.min(Math.floor(at), rgb.length - 2);
  const mixed = rgb[k].map((from, c) => Math.round(from + (at - k) * (rgb[k + 1][c] - from)));
  return `rgb(${mixed.join(" ")})`;
});
const themed = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const AXIS = "12px system-ui, sans-serif";
const AXIS_ON_PANEL = "#c8cfd6";

// Round numbers of an axis, at most one more than `most`.
function ticks(from, to, most) {
  const rough = (to - from) / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
  const first = Math.ceil(from / step);
  return Array.from({ length: Math.floor(to / step) - first + 1 }, (_, k) => Number(((first + k) * step).toPrecision(12)));
}

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
  for (const i of shown) order[state.colour === "rival" ? 1 : isInlier(i)][Math.round(valueOf(i) * (BINS - 1))].push(i);
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
  for (const [F, colour] of fundamentals) drawEpipolar(context, F, colour);
  if (state.selected >= 0) drawSelected(context, state.selected);
}

function drawPanel(context, panel) {
  context.fillStyle = panel.bitmap ? DARKEN : PANEL;
  if (panel.bitmap) context.drawImage(panel.bitmap, panel.left, panel.top, panel.width, panel.height);
  context.fillRect(panel.left, panel.top, panel.width, panel.height);
  if (!panel.image) drawNumbers(context, panel);
}

// The numbers of both axes, inside of a panel without an image.
function drawNumbers(context, panel) {
  context.fillStyle = context.strokeStyle = AXIS_ON_PANEL;
  context.font = AXIS;
  context.lineWidth = 1;
  const [right, bottom] = [panel.left + panel.width, panel.top + panel.height];
  const ranges = [0, 1].map((c) => [panel.corner[c], panel.corner[c] + panel.extent[c]]);
  context.beginPath();
  for (const x of ticks(...ranges[0], panel.width / 80)) {
    const [at] = positions(panel, [x, panel.corner[1]]);
    const half = context.measureText(x).width / 2;
    if (at - half < panel.left + 40 || at + half > right) continue;
    context.moveTo(at, bottom);
    context.lineTo(at, bottom - 4);
    context.fillText(x, at - half, bottom - 7);
  }
  for (const y of ticks(...ranges[1], panel.height / 60)) {
    const at = positions(panel, [panel.corner[0], y])[1];
    if (at < panel.top + 8 || at > bottom - 24) continue;
    context.moveTo(panel.left, at);
    context.lineTo(panel.left + 4, at);
    context.fillText(y, panel.left + 7, at + 4);
  }
  context.stroke();
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

// Epipolar lines: a x + b y + c = 0 of both images for the selected match, or for the place of the pointer.

const fundamentals = data.epipolar.map((F, k) => [[F.slice(0, 3), F.slice(3, 6), F.slice(6)], k ? "#ff9d00" : "#ffffff"]);
const transpose = (F) => F.map((_, k) => F.map((row) => row[k]));
const times = (F, x) => F.map((row) => row[0] * x[0] + row[1] * x[1] + row[2] * x[2]);
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];

function epipolarLines(F) {
  const i = state.selected;
  if (i >= 0) return [1, 0].map((k) => times(k ? transpose(F) : F, [points[k][2 * i], points[k][2 * i + 1], 1]));
  if (!state.pointer) return [null, null];
  const { panel, x } = state.pointer;
  const [there, back] = panel ? [transpose(F), F] : [F, transpose(F)];
  const line = times(there, x);
  const own = times(back, cross(line, epipole(back)));
  return panel ? [line, own] : [own, line];
}

// The null vector of F, the longest of the cross products of its rows.
function epipole(F) {
  const products = [0, 1, 2].map((k) => cross(F[k], F[(k + 1) % 3]));
  return products.reduce((one, other) => (Math.hypot(...other) > Math.hypot(...one) ? other : one));
}

function drawEpipolar(context, F, colour) {
  epipolarLines(F).forEach((line, k) => {
    if (!line) return;
    const { corner, extent, left, top, width, height } = panels[k];
    const [a, b, c] = line;
    const flat = Math.abs(a) < Math.abs(b);
    const two = [0, 1].map((end) => {
      const along = corner[flat ? 0 : 1] + end * extent[flat ? 0 : 1];
      return flat ? [along, -(a * along + c) / b] : [-(b * along + c) / a, along];
    });
    const [x1, y1, x2, y2] = positions(panels[k], two.flat());
    context.save();
    context.beginPath();
    context.rect(left, top, width, height);
    context.clip();
    context.beginPath();
    context.moveTo(x1, y1);
    context.lineTo(x2, y2);
    context.strokeStyle = colour;
    context.lineWidth = 1.5;
    context.stroke();
    context.restore();
  });
}

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
