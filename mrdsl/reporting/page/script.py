"""The page's own script: draws the charts in the colours that the reader's system asks for."""

SCRIPT = """
"use strict";
(() => {
  const charts = JSON.parse(document.getElementById("drawings").textContent);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const actions = { export: true, source: false, compiled: false, editor: false };
  async function draw() {
    const look = dark.matches ? "dark" : "light";
    for (const [id, drawing] of Object.entries(charts.drawings)) {
      const figure = document.getElementById(id);
      await vegaEmbed(figure.querySelector(".live"), drawing, {
        ast: true, renderer: "svg", config: charts.looks[look], actions, tooltip: { theme: look }, downloadFileName: id,
      });
      figure.classList.add("drawn");
    }
    document.documentElement.dataset.drawn = look;
  }
  dark.addEventListener("change", draw);
  draw();
})();
"""
