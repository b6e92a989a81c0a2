// Ctrl K or ⌘K: find a view, a site or a resource by name, and do something with it. The dialog is in palette.templ.
(() => {
  'use strict';

  const dialog = document.getElementById('palette');
  const button = document.getElementById('palette-button');
  const field = document.getElementById('palette-text');
  const list = document.getElementById('palette-list');
  const none = document.getElementById('palette-none');
  if (!dialog || !button || !field || !list || !none) return;
  const views = [...document.querySelectorAll('.side nav a')].map((a) => ({ text: a.childNodes[1]?.textContent.trim() || a.textContent.trim(), is: 'view', to: a.getAttribute('href') }));
  let sites = null; // fetched when it is opened first
  let items = [], picked = 0, asked = 0;

  const ask = async (address) => {
    const answer = await fetch(address, { headers: { Accept: 'application/json' } });
    if (!answer.ok) throw new Error(String(answer.status));
    return answer.json();
  };

  const query = (r) => '?' + new URLSearchParams({ kind: r.kind, service: r.service });
  const found = (r, is) => ({ text: r.label || r.id, is: r.service + '.' + r.kind + ', ' + is, to: '/resources/' + encodeURIComponent(r.id) + query(r) });

  // of lists what can be done with a resource.
  function of(r) {
    const name = r.label || r.id;
    const path = '/resources/' + encodeURIComponent(r.id);
    const all = [found(r, r.state),
      { text: 'Compare ' + name, is: 'at all its sites', to: path + '/differences' + query(r) }];
    if ('operates' in dialog.dataset) all.push({ text: 'Check ' + name, is: 'have all its sites look at it', post: path + '/check' + query(r) });
    return all;
  }

  // held is a name that exactly one site is to hold.
  function held(r) {
    const by = Object.keys(r.sites);
    return found(r, by.length ? 'held by ' + by.join(', ') : 'free');
  }

  function show() {
    picked = Math.min(picked, Math.max(items.length - 1, 0));
    list.replaceChildren(...items.map((item, i) => {
      const li = document.createElement('li');
      li.id = 'palette-' + i;
      li.setAttribute('role', 'option');
      li.setAttribute('aria-selected', String(i === picked));
      const text = document.createElement('span'), is = document.createElement('span');
      text.textContent = item.text;
      is.textContent = item.is;
      is.className = 'soft';
      li.append(text, ' ', is);
      li.addEventListener('click', () => go(item));
      return li;
    }));
    if (items.length) field.setAttribute('aria-activedescendant', 'palette-' + picked);
    else field.removeAttribute('aria-activedescendant');
    list.children[picked]?.scrollIntoView({ block: 'nearest' });
  }

  function go(item) {
    if (!item) return;
    if (item.to) {
      location.assign(item.to);
      return;
    }
    const form = document.createElement('form');
    form.method = 'post';
    form.action = item.post;
    document.body.append(form);
    form.submit();
  }

  async function find() {
    const mine = ++asked;
    const text = field.value.trim().toLowerCase();
    const fits = (item) => item.text.toLowerCase().includes(text);
    try {
      sites ??= (await ask('/api/v1/sites')).map((s) => ({ text: s.name, is: 'site', to: '/sites/' + encodeURIComponent(s.name) }));
      const search = async (more) => (await ask('/api/v1/resources?' + new URLSearchParams({ q: text, limit: 6, ...more }))).items;
      const [resources, names] = text.length < 2 ? [[], []] : await Promise.all([search(), search({ names: true })]);
      if (mine !== asked) return;
      items = [...views.filter(fits), ...sites.filter(fits).slice(0, 6), ...resources.flatMap(of), ...names.map(held)];
      none.textContent = items.length ? '' : 'Nothing has this in its name.';
    } catch (wrong) {
      if (mine !== asked) return;
      items = views.filter(fits);
      none.textContent = 'The agent does not answer: only views are found.';
    }
    picked = 0;
    show();
  }

  function open() {
    if (dialog.open || document.querySelector('dialog[open]')) return;
    dialog.showModal();
    field.select();
    find();
  }

  button.hidden = false;
  if (/Mac|iP/.test(navigator.platform)) button.querySelector('kbd').textContent = '⌘ K';
  button.addEventListener('click', open);
  dialog.addEventListener('click', (event) => { if (event.target === dialog) dialog.close(); });
  field.addEventListener('input', find);
  field.addEventListener('keydown', (event) => {
    if (event.key === 'ArrowDown') picked = Math.min(picked + 1, items.length - 1);
    else if (event.key === 'ArrowUp') picked = Math.max(picked - 1, 0);
    else if (event.key === 'Enter') go(items[picked]);
    else return;
    event.preventDefault();
    show();
  });
  document.addEventListener('keydown', (event) => {
    if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
    event.preventDefault();
    open();
  });
})();
