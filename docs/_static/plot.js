/* Small pictures in SVG, redrawn at the width that there is. Colours come from the page's style sheet. */
"use strict";

const plot = (() => {
  const NAMESPACE = "http://www.w3.org/2000/svg";
  const MARGIN = { left: 46, right: 22, top: 10, bottom: 40 };

  function element(parent, name, attributes, text) {
    const made = document.createElementNS(NAMESPACE, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    parent.appendChild(made);
    return made;
  }

  /* Axes in `place`: {x: [low, high], y: [low, high], xlabel, ylabel, log: true if x is on a log scale}. */
  function axes(place, options) {
    const width = Math.max(place.clientWidth, 240);
    const height = Math.round(Math.min(320, Math.max(230, width * 0.62)));
    place.replaceChildren();
    const svg = element(place, "svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img" });
    element(svg, "title", {}, options.title);
    const scale = options.log ? Math.log10 : (value) => value;
    const [left, right] = options.x.map(scale);
    const [low, high] = options.y;
    const x = (value) => MARGIN.left + ((scale(value) - left) / (right - left)) * (width - MARGIN.left - MARGIN.right);
    const y = (value) => height - MARGIN.bottom - ((value - low) / (high - low)) * (height - MARGIN.top - MARGIN.bottom);
    const clip = `clip-${place.id}`;
    const frame = { x: MARGIN.left, y: MARGIN.top, width: width - MARGIN.left - MARGIN.right, height: height - MARGIN.top - MARGIN.bottom };
    element(element(svg, "clipPath", { id: clip }), "rect", frame);
    const inside = element(svg, "g", { "clip-path": `url(#${clip})` });
    const edge = height - MARGIN.bottom;
    element(svg, "path", { class: "axis", d: `M${MARGIN.left} ${MARGIN.top}V${edge}H${width - MARGIN.right}` });
    for (const tick of options.xticks) {
      const text = options.xname ? options.xname(tick) : String(tick).replace("-", "−");
      element(svg, "path", { class: "axis", d: `M${x(tick)} ${edge}v5` });
      element(svg, "text", { x: x(tick), y: edge + 18, "text-anchor": "middle" }, text);
    }
    for (const tick of options.yticks) {
      element(svg, "path", { class: "axis", d: `M${MARGIN.left} ${y(tick)}h-5` });
      element(svg, "text", { x: MARGIN.left - 8, y: y(tick) + 4, "text-anchor": "end" }, String(tick).replace("-", "−"));
    }
    element(svg, "text", { x: (MARGIN.left + width - MARGIN.right) / 2, y: height - 5, "text-anchor": "middle" }, options.xlabel);
    const line = (xs, ys) => "M" + xs.map((value, place) => `${x(value).toFixed(1)} ${y(ys[place]).toFixed(1)}`).join("L");
    return {
      dots: (xs, ys) => xs.forEach((value, i) => element(inside, "circle", { class: "dot", cx: x(value), cy: y(ys[i]), r: 2.2 })),
      line: (xs, ys, kind) => element(inside, "path", { class: `line ${kind}`, d: line(xs, ys) }),
      band: (xs, lows, highs, kind) =>
        element(inside, "path", {
          class: `band ${kind}`,
          d: line(xs, highs) + "L" + line([...xs].reverse(), [...lows].reverse()).slice(1) + "Z",
        }),
      shade: (from, to) =>
        element(inside, "rect", { class: "no-data", x: x(from), y: MARGIN.top, width: x(to) - x(from), height: frame.height }),
      mark: (at, value, kind) => element(svg, "circle", { class: `mark ${kind}`, cx: x(at), cy: y(value), r: 6 }),
      vertical: (at, kind) => element(inside, "path", { class: `line ${kind}`, d: `M${x(at)} ${MARGIN.top}V${edge}` }),
      text: (at, value, words, kind) => element(inside, "text", { class: kind, x: x(at), y: y(value) }, words),
    };
  }

  const even = (low, high, count) => Array.from({ length: count }, (_, i) => low + ((high - low) * i) / (count - 1));
  const sum = (values) => values.reduce((total, value) => total + value, 0);
  const signed = (value, digits) => value.toFixed(digits).replace("-", "−");

  /* Write each number into its place: as text for reading, and in full for whoever compares. */
  function tell(root, numbers) {
    for (const [name, [value, text]] of Object.entries(numbers)) {
      const place = root.querySelector(`[data-number="${name}"]`);
      place.textContent = text;
      place.dataset.value = value;
    }
  }

  /* A slider with steps on a log scale between two ends: `at(place)` is the value, `nearest(value)` the place. */
  function logSlider(input, data) {
    input.min = 0;
    input.max = data.steps;
    input.step = 1;
    const ratio = Math.log(data.high / data.low);
    return {
      at: (place) => data.low * Math.exp((ratio * place) / data.steps),
      nearest: (value) => Math.round((Math.log(value / data.low) / ratio) * data.steps),
    };
  }

  /* Draw now, on every move of the slider, and when the width changes. */
  function alive(input, place, draw) {
    input.addEventListener("input", draw);
    let width = 0;
    new ResizeObserver(() => {
      if (place.clientWidth !== width) {
        width = place.clientWidth;
        draw();
      }
    }).observe(place);
    draw();
  }

  return { axes, even, sum, signed, tell, logSlider, alive };
})();
