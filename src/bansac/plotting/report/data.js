"use strict";

// The data of the page, and what of it is shown. A match or point has the same index i everywhere.

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
const rival = bytes(data.rival);
const frames = data.frames;
const frameBeliefs = frames && bytes(frames.beliefs);
const frameInliers = frames && bytes(frames.inliers);

// The step after the last frame is the answer: the refined model of the best restart.
const ANSWER = frames ? frames.at.length : 0;

const NOUNS = points.length === 2 ? "matches" : "points";

const state = { step: ANSWER, colour: "inliers", chosen: false, lines: true, selected: -1, pointer: null, playing: 0 };
let shown = [];
let ends = new Float32Array(0); // x, y of every point on the canvas: those of panel 0, then those of panel 1

function beliefOf(i) {
  return state.step === ANSWER ? beliefs[i] : frameBeliefs[state.step * count + i] / 255;
}

function isInlier(i) {
  return state.step === ANSWER ? bit(inliers, i) : bit(frameInliers, state.step * count + i);
}

// 1 for an inlier of the model, 0 for one of its rival, 0.5 for one of both, NaN for the others, which are hidden.
function sideOf(i) {
  const [ours, theirs] = [bit(inliers, i), bit(rival, i)];
  return ours || theirs ? (1 + ours - theirs) / 2 : NaN;
}

function valueOf(i) {
  if (state.colour === "posterior") return posterior[i];
  if (state.colour === "rival") return sideOf(i);
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
  let text = `${shown.length} of ${count} ${NOUNS} shown`;
  if (state.colour === "rival") {
    const number = (side) => shown.filter((i) => sideOf(i) === side).length;
    text += `: ${number(1)} of the model alone, ${number(0)} of the rival alone, ${number(0.5)} of both`;
  }
  element("shown").textContent = text;
}
