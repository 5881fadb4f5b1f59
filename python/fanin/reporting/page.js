"use strict";
(async () => {
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const config = {
    responsive: true,
    displaylogo: false,
    showTips: false,
    // Named one by one: among the library's own choice is one that sends data away.
    modeBarButtons: [["toImage"], ["zoom2d", "pan2d"], ["zoomIn2d", "zoomOut2d", "resetScale2d"]],
  };
  const drawn = [];
  const hidden = new Set();

  function show(scheme, visible) {
    if (visible) hidden.delete(scheme);
    else hidden.add(scheme);
    for (const element of document.querySelectorAll("[data-scheme]")) {
      if (element.dataset.scheme === scheme) element.hidden = !visible;
    }
    for (const place of drawn) {
      const curves = place.data.flatMap((curve, index) => (curve.meta.scheme === scheme ? [index] : []));
      if (curves.length) Plotly.restyle(place, { visible }, curves);
    }
  }
  for (const box of document.querySelectorAll(".schemes input")) {
    box.addEventListener("change", () => show(box.value, box.checked));
  }

  // Charts keep the width that they were drawn with; this one fits on A4 and on letter paper.
  const onPaper = { width: 680, autosize: false };
  const onScreen = { width: null, autosize: true };
  window.addEventListener("beforeprint", () => drawn.forEach((place) => Plotly.relayout(place, onPaper)));
  window.addEventListener("afterprint", () => drawn.forEach((place) => Plotly.relayout(place, onScreen)));

  // One at a time, so that the page can be read and scrolled meanwhile.
  for (const [id, { data, layout }] of Object.entries(figures)) {
    const place = document.getElementById(id);
    for (const curve of data) curve.visible = !hidden.has(curve.meta.scheme);
    await Plotly.newPlot(place, data, layout, config);
    drawn.push(place);
    await new Promise((next) => setTimeout(next));
  }
  document.body.dataset.drawn = "all";
})();
