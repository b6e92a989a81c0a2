// Completion of the scope that is being written: names of sites, zones and services, at the cursor. The server lists them in the
// listbox of compose.templ. What is chosen above it is written into it as the server says.
(() => {
  'use strict';

  const field = document.getElementById('scope');
  const list = document.getElementById('words');
  if (!field || !list) return;
  for (const [name, value] of [['role', 'combobox'], ['aria-autocomplete', 'list'], ['aria-controls', 'words'], ['aria-expanded', 'false']]) field.setAttribute(name, value);
  const options = [...list.children];
  let picked = -1;

  // before is the unfinished name to the left of the cursor.
  function before() {
    return /[A-Za-z0-9._-]*$/.exec(field.value.slice(0, field.selectionStart))[0];
  }

  function visible() { return options.filter((o) => !o.hidden); }

  function pick(index) {
    const shown = visible();
    picked = shown.length === 0 ? -1 : (index + shown.length) % shown.length;
    for (const o of options) o.setAttribute('aria-selected', String(o === shown[picked]));
    if (picked >= 0) {
      field.setAttribute('aria-activedescendant', shown[picked].id);
      shown[picked].scrollIntoView({ block: 'nearest' });
    }
  }

  function close() {
    list.hidden = true;
    picked = -1;
    field.setAttribute('aria-expanded', 'false');
    field.removeAttribute('aria-activedescendant');
  }

  function open() {
    const typed = before().toLowerCase();
    for (const o of options) o.hidden = typed === '' || !o.dataset.word.toLowerCase().startsWith(typed) || o.dataset.word.toLowerCase() === typed;
    if (visible().length === 0) return close();
    list.hidden = false;
    field.setAttribute('aria-expanded', 'true');
    pick(0);
  }

  function take(option) {
    const typed = before(), cursor = field.selectionStart;
    field.setRangeText(option.dataset.word, cursor - typed.length, cursor, 'end');
    close();
    field.focus();
    field.dispatchEvent(new Event('input', { bubbles: true }));
    close();
  }

  document.body.addEventListener('htmx:after:swap', () => {
    const written = document.getElementById('written');
    if (!written) return;
    field.value = written.value;
    written.remove();
  });

  field.addEventListener('input', open);
  field.addEventListener('blur', close);
  list.addEventListener('mousedown', (event) => { // before the field loses the focus
    const option = event.target.closest('[role=option]');
    event.preventDefault();
    if (option) take(option);
  });
  field.addEventListener('keydown', (event) => {
    if (list.hidden) return;
    if (event.key === 'ArrowDown') pick(picked + 1);
    else if (event.key === 'ArrowUp') pick(picked - 1);
    else if ((event.key === 'Enter' || event.key === 'Tab') && picked >= 0) take(visible()[picked]);
    else if (event.key === 'Escape') close();
    else return;
    event.preventDefault();
  });
})();
