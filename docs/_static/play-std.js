/* One std for all points: the NLL, the band and the coverage as it slides. */
"use strict";

(() => {
  const data = JSON.parse(document.getElementById("std-data").textContent);
  const root = document.getElementById("std-play");
  const input = document.getElementById("std-slider");
  const slider = plot.logSlider(input, data);
  const residuals = data.y.map((value, i) => value - data.mean[i]);
  const meanSquare = plot.sum(residuals.map((r) => r * r)) / residuals.length;
  const best = Math.sqrt(meanSquare);

  const nll = (std) => meanSquare / (2 * std * std) + Math.log(std) + 0.5 * Math.log(2 * Math.PI);
  const coverage = (std) => residuals.filter((r) => Math.abs(r) <= 1.959963984540054 * std).length / residuals.length;
  const stds = plot.even(0, data.steps, data.steps + 1).map(slider.at);

  let std = slider.at(150);
  input.value = 150;

  function draw() {
    plot.tell(root, {
      std: [std, std.toFixed(3)],
      nll: [nll(std), plot.signed(nll(std), 3)],
      excess: [nll(std) - nll(best), `${(nll(std) - nll(best)).toFixed(3)} nats`],
      coverage: [coverage(std), `${(100 * coverage(std)).toFixed(0)} %`],
      best: [best, best.toFixed(4)],
    });
    input.setAttribute("aria-valuetext", `std ${std.toFixed(3)}`);
    const band = plot.axes(document.getElementById("std-band"), {
      title: `A hundred points, a mean, and a band of mean ± 2 std with std ${std.toFixed(3)}`,
      x: [-1.05, 1.05], y: [-1.4, 2], xticks: [-1, -0.5, 0, 0.5, 1], yticks: [-1, 0, 1, 2], xlabel: "x",
    });
    band.band(data.grid, data.curve.map((m) => m - 2 * std), data.curve.map((m) => m + 2 * std), "aleatoric");
    band.dots(data.x, data.y);
    band.line(data.grid, data.curve, "total");
    const curve = plot.axes(document.getElementById("std-curve"), {
      title: `The NLL against the std: ${nll(std).toFixed(3)} at std ${std.toFixed(3)}, least at ${best.toFixed(3)}`,
      log: true, x: [data.low, data.high], y: [-0.5, 3], xlabel: "std σ (log scale)",
      xticks: [0.05, 0.1, 0.2, 0.5, 1], yticks: [0, 1, 2, 3],
    });
    curve.vertical(best, "dashed");
    curve.line(stds, stds.map(nll), "total");
    curve.mark(std, Math.min(nll(std), 3), "total");
  }

  function verdict() {
    const bet = root.querySelector("input[name=bet]:checked");
    if (!bet) return;
    const [half, twice] = [0.5, 2].map((factor) => nll(factor * best) - nll(best));
    const start = bet.value === "half" ? "Right." : "Not so.";
    root.querySelector(".verdict").textContent =
      `${start} Half of the best costs ${half.toFixed(3)} nats a point, twice the best ${twice.toFixed(3)}.`;
  }

  root.querySelectorAll("input[name=bet]").forEach((one) => one.addEventListener("change", verdict));
  root.querySelectorAll("[data-factor]").forEach((button) =>
    button.addEventListener("click", () => {
      std = Number(button.dataset.factor) * best;
      input.value = slider.nearest(std);
      draw();
    }),
  );
  input.addEventListener("input", () => (std = slider.at(Number(input.value))));
  plot.alive(input, document.getElementById("std-band"), draw);
})();
