// What a view needs before people see it is done here, once its menu is there; all other scripts begin once the whole of it is painted: they cost a
// browser more time than the view.
(() => {
  'use strict';

  // On a small screen the menu is folded until it is wanted.
  const menu = document.getElementById('menu');
  const small = matchMedia('(max-width: 820px)');
  const fold = () => { if (menu) menu.open = !small.matches; };
  small.addEventListener('change', fold);
  fold();

  const scripts = [...document.querySelectorAll('link[rel=preload][as=script]')];
  const begin = () => {
    for (const { href } of scripts) {
      const script = document.createElement('script');
      script.src = href;
      script.async = false; // in their order
      document.head.append(script);
    }
  };
  document.addEventListener('DOMContentLoaded', () => {
    if (document.hidden) begin(); // nothing is painted of a tab that nobody sees
    else requestAnimationFrame(() => setTimeout(begin));
  });
})();
