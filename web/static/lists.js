// What lists do with JavaScript: identifiers are copied, rows stay selected while the list is replaced by what is new, and views are saved
// in this browser. Without it, everything but that works by links and forms.
(() => {
  'use strict';

  document.documentElement.classList.add('scripted');

  document.addEventListener('click', async (event) => {
    const button = event.target.closest?.('button[data-copy]');
    if (!button) return;
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
    } catch { // it is only allowed where the address is trusted
      const field = document.createElement('textarea');
      field.value = button.dataset.copy;
      document.body.append(field);
      field.select();
      document.execCommand('copy');
      field.remove();
    }
    button.classList.add('done');
    setTimeout(() => button.classList.remove('done'), 1500);
  });

  // What is selected is remembered by its value: a row that comes or goes moves no other.
  const picked = new Set();
  let last = null;
  const boxes = () => [...document.querySelectorAll('input[name=pick]')];

  function show() {
    const all = boxes();
    for (const b of all) b.checked = picked.has(b.value);
    const here = all.filter((b) => b.checked).length;
    for (const one of document.querySelectorAll('[data-pick-all]')) {
      one.checked = here > 0 && here === all.length;
      one.indeterminate = here > 0 && here < all.length;
    }
    for (const words of document.querySelectorAll('[data-picked]')) words.textContent = here ? here + ' selected' : 'All on this page';
    for (const acts of document.querySelectorAll('.acts')) acts.classList.toggle('some', here > 0);
  }

  document.addEventListener('change', (event) => {
    const box = event.target;
    if (box.matches?.('[data-pick-all]')) {
      for (const b of boxes()) box.checked ? picked.add(b.value) : picked.delete(b.value);
    } else if (box.matches?.('input[name=pick]')) {
      box.checked ? picked.add(box.value) : picked.delete(box.value);
    } else return;
    show();
  });
  // With the shift key, all between two are selected.
  document.addEventListener('click', (event) => {
    const box = event.target;
    if (!box.matches?.('input[name=pick]')) return;
    const all = boxes(), from = all.findIndex((b) => b.value === last), to = all.indexOf(box);
    if (event.shiftKey && from >= 0) {
      for (const b of all.slice(Math.min(from, to), Math.max(from, to) + 1)) box.checked ? picked.add(b.value) : picked.delete(b.value);
    }
    last = box.value; // that it has changed itself comes in an event of its own
  });
  document.body.addEventListener('htmx:after:swap', () => { show(); views(); });

  // Saved views are the query of a list under a name.
  function saved(path, value) {
    const key = 'views ' + path;
    try {
      if (value) localStorage.setItem(key, JSON.stringify(value));
      const list = JSON.parse(localStorage.getItem(key) ?? '[]');
      return Array.isArray(list) ? list : [];
    } catch { return value ?? []; } // storage may be denied
  }

  function views() {
    const place = document.getElementById('views');
    if (!place || place.dataset.shown === place.dataset.view) return;
    place.dataset.shown = place.dataset.view;
    const { views: path, view } = place.dataset;
    const all = saved(path);
    const here = all.find((v) => v.view === view);
    const again = (list) => { saved(path, list); place.dataset.shown = ''; views(); };
    const links = all.map((v) => {
      const a = document.createElement('a');
      a.href = path + (v.view ? '?' + v.view : '');
      a.textContent = v.name;
      if (v === here) a.setAttribute('aria-current', 'true');
      return a;
    });
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = here ? 'Forget this view' : 'Save this view';
    button.addEventListener('click', () => {
      if (here) return again(all.filter((v) => v !== here));
      const form = document.createElement('form'), field = document.createElement('input'), keep = document.createElement('button');
      field.setAttribute('aria-label', 'Name of the view');
      field.placeholder = 'Name of the view';
      field.maxLength = 40;
      field.required = true;
      keep.textContent = 'Save';
      form.append(field, keep);
      form.addEventListener('submit', (event) => {
        event.preventDefault();
        again([...all, { name: field.value.trim(), view }]);
      });
      button.replaceWith(form);
      field.focus();
    });
    place.replaceChildren(...links, ...(view || here ? [button] : []));
  }

  show();
  views();
})();
