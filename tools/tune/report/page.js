"use strict";
// Everything is in the page already. This shows one map of the many, sorts the table and answers to the pointer.
(() => {
    const all = (selector, within = document) => [...within.querySelectorAll(selector)];
    const find = (id) => document.getElementById(id);
    const maps = find("maps"), settings = all(".setting"), buttons = all("#controls [data-map]");
    const fields = ["device", "precision", "objective"];
    document.documentElement.classList.add("script");

    // What the address says after #, such as map=gain&precision=f32&slice=batch=16, and what is shown otherwise.
    const wanted = () => Object.fromEntries(new URLSearchParams(location.hash.slice(1)));

    const fill = (select, values, chosen) => {
        select.replaceChildren(...values.map(([value, text]) => new Option(text, value, false, value === chosen)));
        select.parentElement.hidden = values.length < 1;
        select.disabled = values.length < 2;
    };

    // The setting that agrees with the most of what is wanted; the field that was changed last counts for more than all others. Of those that
    // agree alike it is the one with the largest gain, which the headline names.
    const closest = (want, changed) => {
        const score = (setting) => fields.reduce((sum, field) => sum + (setting.dataset[field] === want[field] ? (field === changed ? 10 : 1) : 0), 0);
        const better = (one, other) => score(one) - score(other) || Number(one.dataset.gain) - Number(other.dataset.gain);
        return settings.reduce((best, setting) => (better(setting, best) > 0 ? setting : best), settings[0]);
    };
    const points = (slice) => all("td:not(.none)", slice).length;
    const fullest = (slices) => slices.reduce((best, slice) => (points(slice) > points(best) ? slice : best), slices[0]);

    const show = (want, changed) => {
        const map = buttons.some((button) => button.dataset.map === want.map) ? want.map : "gain";
        maps.dataset.map = map;
        for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.map === map));
        if (settings.length === 0) {
            find("controls").hidden = true;
            return;
        }
        const shown = closest(want, changed);
        for (const setting of settings) setting.hidden = setting !== shown;
        for (const field of fields) {
            const values = [...new Set(settings.map((setting) => setting.dataset[field]))];
            fill(find(field), values.map((value) => [value, value]), shown.dataset[field]);
        }
        const slices = all(".slice", shown);
        const slice = slices.find((one) => one.dataset.slice === want.slice) || fullest(slices);
        for (const one of slices) one.hidden = one !== slice;
        fill(find("slice"), slices.map((one) => [one.dataset.slice, one.dataset.title]), slice.dataset.slice);
    };

    const change = (name, value) => {
        const now = { map: maps.dataset.map, slice: find("slice").value };
        for (const field of fields) now[field] = find(field).value;
        now[name] = value;
        show(now, name);
        try {
            history.replaceState(null, "", "#" + new URLSearchParams(now));
        } catch {
            // Some browsers keep the address of a file as it is.
        }
    };
    for (const button of buttons) button.addEventListener("click", () => change("map", button.dataset.map));
    for (const name of [...fields, "slice"]) find(name).addEventListener("change", (event) => change(name, event.target.value));
    find("controls").addEventListener("submit", (event) => event.preventDefault());
    addEventListener("hashchange", () => show(wanted()));
    show(wanted());

    // A cell's details: the browser's own tooltip needs a mouse and patience.
    const tip = find("tip");
    const hide = () => { tip.hidden = true; };
    const point_at = (cell) => {
        tip.textContent = cell.dataset.details;
        tip.hidden = false;
        const at = cell.getBoundingClientRect(), size = tip.getBoundingClientRect();
        const above = at.top - size.height - 8;
        tip.style.left = Math.max(10, Math.min(at.left + at.width / 2 - size.width / 2, innerWidth - size.width - 10)) + "px";
        tip.style.top = (above > 8 ? above : at.bottom + 8) + "px";
    };
    for (const cell of all(".setting td[title]")) {
        cell.dataset.details = cell.title;
        cell.removeAttribute("title");
    }
    const cell_of = (event) => event.target.closest && event.target.closest("td[data-details]");
    maps.addEventListener("mouseover", (event) => { const cell = cell_of(event); cell ? point_at(cell) : hide(); });
    maps.addEventListener("mouseleave", hide);
    maps.addEventListener("focusin", (event) => { const cell = cell_of(event); cell ? point_at(cell) : hide(); });
    maps.addEventListener("focusout", hide);
    maps.addEventListener("click", (event) => { const cell = cell_of(event); if (cell) point_at(cell); });
    addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
    addEventListener("scroll", hide, { passive: true, capture: true });

    const sort = (table, heads, column) => {
        const head = heads[column], body = table.tBodies[0];
        const descending = head.getAttribute("aria-sort") === "ascending";
        const value = (row) => row.cells[column].dataset.sort !== undefined ? Number(row.cells[column].dataset.sort) : row.cells[column].textContent;
        const order = (a, b) => (typeof a === "number" ? a - b : a.localeCompare(b, "en", { numeric: true }));
        const rows = [...body.rows].sort((a, b) => order(value(a), value(b)) * (descending ? -1 : 1));
        for (const other of heads) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", descending ? "descending" : "ascending");
        body.replaceChildren(...rows);
    };
    for (const table of all("table.sortable")) {
        const heads = [...table.tHead.rows[0].cells];
        heads.forEach((head, column) => {
            const button = document.createElement("button");
            button.type = "button";
            button.append(...head.childNodes);
            head.append(button);
            button.addEventListener("click", () => sort(table, heads, column));
        });
        const asked = wanted().sort;  // a column's name
        const column = heads.findIndex((head) => head.textContent === asked);
        if (column >= 0) sort(table, heads, column);
    }

    // What goes on beyond an edge fades out there.
    const scrolls = all(".scroll");
    const fade = (one) => {
        one.classList.toggle("before", one.scrollLeft > 1);
        one.classList.toggle("beyond", one.scrollLeft + one.clientWidth < one.scrollWidth - 1);
    };
    const fade_all = () => scrolls.forEach(fade);
    for (const one of scrolls) one.addEventListener("scroll", () => fade(one), { passive: true });
    addEventListener("resize", fade_all);
    for (const name of ["click", "change", "hashchange", "toggle"]) addEventListener(name, () => requestAnimationFrame(fade_all), true);
    fade_all();

    find("download").addEventListener("click", () => {
        const link = document.createElement("a");
        link.href = URL.createObjectURL(new Blob([find("records").textContent.trimStart()], { type: "application/x-ndjson" }));
        link.download = "trials.jsonl";
        link.click();
        setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    });
})();
