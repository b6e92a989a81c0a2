// Keys that lead through the dashboard: what they are stands in the dialog of keys.templ, which opens with "?". A page works
// without them, and they can be turned off for those whose tools type letters by themselves.
(() => {
  'use strict';

  const dialog = document.getElementById('keys');
  const button = document.getElementById('keys-button');
  const on = document.getElementById('keys-on');
  if (!dialog || !button || !on) return;
  const addresses = new Map();
  for (const a of dialog.querySelectorAll('a[data-key]')) addresses.set(a.dataset.key, a.href);

  const remembered = (value) => {
    try { // storage may be denied
      if (value === undefined) return localStorage.getItem('keys') !== 'off';
      localStorage.setItem('keys', value ? 'on' : 'off');
    } catch { /* then it is for this page alone */ }
    return value ?? true;
  };
  on.checked = remembered();
  on.addEventListener('change', () => remembered(on.checked));
  button.hidden = false;
  button.addEventListener('click', () => dialog.showModal());
  dialog.addEventListener('click', (event) => { if (event.target === dialog) dialog.close(); });

  function search() {
    const field = document.querySelector('main form[role=search] input');
    if (field) field.focus(), field.select?.();
    else location.assign('/resources');
  }

  function row(step) {
    const links = [...document.querySelectorAll('main tbody th a, main .worries a.id, main .history a')].filter((a) => !a.closest('details:not([open])'));
    if (links.length === 0) return;
    const at = links.indexOf(document.activeElement);
    const next = at < 0 ? (step > 0 ? 0 : links.length - 1) : Math.min(Math.max(at + step, 0), links.length - 1);
    links[next].focus();
    links[next].scrollIntoView({ block: 'nearest' });
  }

  let went = 0; // when g was pressed last
  document.addEventListener('keydown', (event) => {
    if (!on.checked || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || dialog.open) return;
    if (event.target.closest?.('input, select, textarea, [contenteditable]')) return;
    const key = event.key;
    const after = Date.now() - went < 1500;
    went = 0;
    if (after && addresses.has(key)) location.assign(addresses.get(key));
    else if (key === 'g') went = Date.now();
    else if (key === '/') search();
    else if (key === '?') dialog.showModal();
    else if (key === 'j') row(1);
    else if (key === 'k') row(-1);
    else return;
    event.preventDefault();
  });
})();
