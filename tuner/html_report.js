(function () {
  "use strict";
  function value(row, column) {
    var text = row.cells[column].getAttribute("data-v");
    var number = parseFloat(text);
    return isNaN(number) ? text : number;
  }
  function sort(table, column, descending) {
    var body = table.tBodies[0];
    var rows = Array.prototype.slice.call(body.rows);
    rows.sort(function (a, b) {
      var x = value(a, column), y = value(b, column);
      if (x === "" || y === "") return (x === "" ? 1 : 0) - (y === "" ? 1 : 0);
      var order = x === y ? 0 : x > y ? 1 : -1;
      return descending ? -order : order;
    });
    rows.forEach(function (row) { body.appendChild(row); });
    Array.prototype.forEach.call(table.tHead.rows[0].cells, function (cell, at) {
      cell.setAttribute("aria-sort", at !== column ? "none" : descending ? "descending" : "ascending");
    });
  }
  function sortByHash() {
    var wanted = /^#sort=([a-z]+)(,desc)?$/.exec(location.hash);
    if (!wanted) return;
    document.querySelectorAll("table.codes").forEach(function (table) {
      var button = table.querySelector("button[data-key=" + wanted[1] + "]");
      if (button) sort(table, button.parentNode.cellIndex, Boolean(wanted[2]));
    });
  }
  document.querySelectorAll("table.codes button").forEach(function (button) {
    button.addEventListener("click", function () {
      var cell = button.parentNode;
      sort(cell.closest("table"), cell.cellIndex, cell.getAttribute("aria-sort") === "ascending");
    });
  });
  document.querySelectorAll("[data-run]").forEach(function (run) {
    function mark(event, on) {
      var code = event.target.closest ? event.target.closest("[data-code]") : null;
      if (!code) return;
      var same = "[data-run='" + run.dataset.run + "'] [data-code='" + code.dataset.code + "']";
      document.querySelectorAll(same).forEach(function (other) { other.classList.toggle("hot", on); });
    }
    run.addEventListener("mouseover", function (event) { mark(event, true); });
    run.addEventListener("mouseout", function (event) { mark(event, false); });
  });
  window.addEventListener("hashchange", sortByHash);
  sortByHash();
})();
