(() => {
  "use strict";
  const charts = JSON.parse(document.getElementById("charts").textContent);
  for (const drawing of document.querySelectorAll("[data-chart]")) {
    const name = drawing.dataset.chart;
    const live = document.createElement("div");
    window
      .vegaEmbed(live, charts[name], {
        ast: true,
        renderer: "svg",
        actions: { export: true, source: false, compiled: false, editor: false },
        downloadFileName: name,
      })
      .then(() => drawing.replaceChildren(live))
      .catch((error) => console.warn("the drawing of " + name + " stays as it is: " + error));
  }
})();
