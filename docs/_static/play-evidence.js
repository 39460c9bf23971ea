/* A Bayesian linear model with fixed features: fit, price and evidence as the prior precision slides. All exact. */
"use strict";

(() => {
  const data = JSON.parse(document.getElementById("evidence-data").textContent);
  const root = document.getElementById("evidence-play");
  const input = document.getElementById("evidence-slider");
  const slider = plot.logSlider(input, data);
  const size = data.phi[0].length;
  const noise = data.noise_std;
  const indices = [...Array(size).keys()];
  const dot = (a, b) => plot.sum(a.map((value, i) => value * b[i]));

  const gram = indices.map((i) => indices.map((j) => plot.sum(data.phi.map((row) => row[i] * row[j])) / noise ** 2));
  const cross = indices.map((i) => plot.sum(data.phi.map((row, n) => row[i] * data.y[n])) / noise ** 2);

  /* The lower factor L of a symmetric positive definite matrix, L L^T = P. */
  function cholesky(matrix) {
    const lower = matrix.map((row) => row.map(() => 0));
    for (let i = 0; i < size; i++)
      for (let j = 0; j <= i; j++) {
        let rest = matrix[i][j];
        for (let k = 0; k < j; k++) rest -= lower[i][k] * lower[j][k];
        lower[i][j] = i === j ? Math.sqrt(rest) : rest / lower[j][j];
      }
    return lower;
  }

  /* L^{-1} b. */
  function forward(lower, b) {
    const solved = [];
    for (let i = 0; i < size; i++) {
      let rest = b[i];
      for (let k = 0; k < i; k++) rest -= lower[i][k] * solved[k];
      solved.push(rest / lower[i][i]);
    }
    return solved;
  }

  /* L^{-T} b. */
  function backward(lower, b) {
    const solved = Array(size).fill(0);
    for (let i = size - 1; i >= 0; i--) {
      let rest = b[i];
      for (let k = i + 1; k < size; k++) rest -= lower[k][i] * solved[k];
      solved[i] = rest / lower[i][i];
    }
    return solved;
  }

  function posterior(tau) {
    const lower = cholesky(gram.map((row, i) => row.map((value, j) => value + (i === j ? tau : 0))));
    const mean = backward(lower, forward(lower, cross));
    const doubt = (phi) => Math.sqrt(plot.sum(forward(lower, phi).map((part) => part * part)));
    const points = data.y.length;
    const squares = plot.sum(data.phi.map((row, n) => (data.y[n] - dot(row, mean)) ** 2));
    const fit = -squares / (2 * noise ** 2) - points * (Math.log(noise) + 0.5 * Math.log(2 * Math.PI));
    const logPrior = -0.5 * tau * dot(mean, mean) + 0.5 * size * Math.log(tau / (2 * Math.PI));
    const logDet = 2 * plot.sum(lower.map((row, i) => Math.log(row[i])));
    const price = 0.5 * logDet - 0.5 * size * Math.log(2 * Math.PI) - logPrior;
    const gamma = plot.sum(data.phi.map((row) => (doubt(row) / noise) ** 2));
    return { mean, doubt, fit, price, evidence: fit - price, gamma };
  }

  const taus = plot.even(0, data.steps, data.steps + 1).map(slider.at);
  const all = taus.map(posterior);
  const evidences = all.map((one) => one.evidence);
  const best = evidences.indexOf(Math.max(...evidences));
  const name = (tau) => (tau >= 1000 ? tau.toFixed(0) : Number(tau.toPrecision(3)).toString());
  input.value = slider.nearest(1);

  function draw() {
    const place = Number(input.value);
    const [tau, now] = [taus[place], all[place]];
    plot.tell(root, {
      tau: [tau, name(tau)],
      fit: [now.fit, plot.signed(now.fit, 2)],
      price: [now.price, plot.signed(now.price, 2)],
      evidence: [now.evidence, plot.signed(now.evidence, 2)],
      gamma: [now.gamma, `${now.gamma.toFixed(2)} of ${size}`],
    });
    input.setAttribute("aria-valuetext", `tau ${name(tau)}`);
    const band = plot.axes(document.getElementById("evidence-band"), {
      title: `Thirty points, the posterior mean and two bands, for tau ${name(tau)}`,
      x: [-1.5, 1.5], y: [-2, 3], xticks: [-1, 0, 1], yticks: [-2, -1, 0, 1, 2, 3], xlabel: "x",
    });
    band.shade(-1.5, -1);
    band.shade(1, 1.5);
    const means = data.curve.map((phi) => dot(phi, now.mean));
    const stds = data.curve.map(now.doubt);
    const totals = stds.map((s) => Math.hypot(s, noise));
    band.band(data.grid, means.map((m, i) => m - 2 * totals[i]), means.map((m, i) => m + 2 * totals[i]), "total");
    band.band(data.grid, means.map((m, i) => m - 2 * stds[i]), means.map((m, i) => m + 2 * stds[i]), "epistemic");
    band.dots(data.x, data.y);
    band.line(data.grid, means, "total");
    const curve = plot.axes(document.getElementById("evidence-curve"), {
      title: `Fit, price and log evidence against tau; the evidence is ${now.evidence.toFixed(2)}, highest at tau ${name(taus[best])}`,
      log: true, x: [data.low, data.high], y: [-40, 50], xlabel: "prior precision τ (log scale)",
      xticks: [1e-4, 1e-2, 1, 100, 1e4], yticks: [-40, -20, 0, 20, 40], xname: (tick) => (tick < 1 ? String(tick.toFixed(Math.round(-Math.log10(tick)))) : String(tick)),
    });
    curve.vertical(taus[best], "dashed");
    for (const [part, kind] of [["price", "aleatoric"], ["fit", "epistemic"], ["evidence", "total"]]) {
      curve.line(taus, all.map((one) => one[part]), kind);
      curve.mark(tau, now[part], kind);
    }
    const at = (value) => all[slider.nearest(value)];
    curve.text(1.5e-4, at(1.5e-4).fit + 3, "fit", "epistemic");
    curve.text(6e-3, at(6e-3).price + 6, "price", "aleatoric");
    curve.text(6e-3, at(6e-3).evidence - 10, "log evidence", "total");
  }

  function verdict() {
    const bet = root.querySelector("input[name=bet]:checked");
    if (!bet) return;
    const lost = evidences[best] - evidences[0];
    root.querySelector(".verdict").textContent =
      `${bet.value === "turns" ? "Right." : "Not so."} It is highest at τ = ${name(taus[best])}; ` +
      `at τ = 0.0001 it is ${lost.toFixed(1)} nats lower, though the fit is ${(all[0].fit - all[best].fit).toFixed(2)} nats better.`;
  }

  root.querySelectorAll("input[name=bet]").forEach((one) => one.addEventListener("change", verdict));
  root.querySelectorAll("[data-tau]").forEach((button) =>
    button.addEventListener("click", () => {
      input.value = button.dataset.tau === "best" ? best : slider.nearest(Number(button.dataset.tau));
      draw();
    }),
  );
  plot.alive(input, document.getElementById("evidence-band"), draw);
})();
