// What the dashboard does with JavaScript beside htmx: it shows whether the page is live, paused or stale, keeps
// relative times true, and remembers to catch up after a pause. Without it every view still works by links and forms.
(() => {
  'use strict';

  const live = document.getElementById('live');
  const word = document.getElementById('live-word');
  const button = document.getElementById('live-button');
  const silence = 25000; // the server speaks at least every 10 seconds
  let paused = false, missed = false, connected = false, heard = Date.now();

  function show() {
    if (!live) return;
    const state = paused || document.hidden ? 'paused' : connected && Date.now() - heard < silence ? 'live' : 'stale';
    if (live.dataset.live === state) return;
    live.dataset.live = state;
    word.textContent = { live: 'Live', paused: 'Paused', stale: 'Stale: not connected' }[state];
    button.textContent = paused ? 'Resume' : 'Pause';
    button.hidden = false;
  }

  if (live) {
    // A page that is left but kept for the back button would hold its connection open, and a browser has few.
    let stream = null;
    document.body.addEventListener('htmx:sse:before:connection', (event) => { stream = event.detail.connection; });
    window.addEventListener('pagehide', () => { stream?.abortController?.abort(); });
    window.addEventListener('pageshow', (event) => { if (event.persisted) location.reload(); });

    document.body.addEventListener('htmx:sse:after:connection', () => { connected = true; heard = Date.now(); show(); });
    document.body.addEventListener('htmx:sse:error', () => { connected = false; show(); });
    document.body.addEventListener('htmx:sse:close', () => { connected = false; show(); });
    document.body.addEventListener('htmx:sse:before:message', (event) => {
      heard = Date.now();
      connected = true;
      if (paused) {
        if (event.detail.message.event === 'news') missed = true;
        event.preventDefault();
      }
      show();
    });
    button.addEventListener('click', () => {
      paused = !paused;
      if (!paused && missed) {
        missed = false;
        htmx.trigger(live, 'news');
      }
      show();
    });
    // A tab that comes back shows what it knew when it was left, until the server has spoken again.
    document.addEventListener('visibilitychange', () => {
      if (!document.hidden) connected = false;
      show();
    });
    setInterval(show, 1000);
  }

  // The words are those of the server's, in format.go.
  function ago(then) {
    const s = (Date.now() - then) / 1000;
    if (s < -1.5) return 'in ' + span(-s);
    if (s < 1.5) return 'now';
    return span(s) + ' ago';
  }

  function span(s) {
    if (s < 60) return Math.round(s) + ' s';
    if (s < 3600) return Math.round(s / 60) + ' min';
    if (s < 86400) return Math.round(s / 3600) + ' h';
    return Math.round(s / 86400) + ' d';
  }

  setInterval(() => {
    for (const t of document.querySelectorAll('time[data-relative]')) {
      const text = ago(Date.parse(t.dateTime));
      if (t.textContent !== text) t.textContent = text;
    }
  }, 5000);
})();
