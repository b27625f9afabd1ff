// The script of every page. Pages work without it; each function adds one thing.

const $ = (selector, root = document) => root.querySelector(selector);
const all = (selector, root = document) => [...root.querySelectorAll(selector)];

// fragment loads the main part of a page as nodes. Answers that are not pages, such as
// the bytes of a payload, are an error.
async function fragment(path, signal) {
  const url = new URL(path, location.href);
  url.searchParams.set('fragment', '1');
  const answer = await fetch(url, { signal, headers: { Accept: 'text/html' } });
  const type = answer.headers.get('Content-Type') || '';
  if (!type.startsWith('text/html')) throw new Error(`${url.pathname} is not a page: ${answer.status} ${type}`);
  const box = document.createElement('template');
  box.innerHTML = await answer.text(); // rendered and escaped by the server
  return box.content;
}

// keys moves through the items of a page with j, k and Enter, from the message that the
// address names or the first one on the screen; "/" goes to the search box and Escape
// leaves it, or closes the panel; "?" shows the keys.
function keys() {
  addEventListener('keydown', (e) => {
    const typing = e.target.matches('input, textarea');
    const help = $('#keys');
    if (help.open) return; // Escape closes it
    if (e.key === 'Escape') {
      if (typing) e.target.blur();
      else closePanel();
      return;
    }
    if (typing && e.target.id === 'q' && e.key === 'ArrowDown') { e.target.blur(); move(1); e.preventDefault(); return; }
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const text = e.target.matches('textarea, input:not([type=number], [type=range], [type=radio], [type=checkbox])');
    if (e.key === '/' && !text) { $('#q').focus(); $('#q').select(); e.preventDefault(); }
    if (typing) return;
    if (e.key === '?') help.showModal();
    if (e.key === 'c') copyMessage($('.message.current, .message.focus, .message:target'));
    if (e.key === 'j') move(1);
    if (e.key === 'k') move(-1);
    if (e.key === 'Enter') {
      const link = $('.item.current a, .message.current .id');
      if (link && document.activeElement.tagName !== 'A') location.href = link.href;
    }
  });
  function move(step) {
    const items = all('.item, #messages .message');
    if (!items.length) return;
    let from = items.findIndex((i) => i.classList.contains('current'));
    if (from < 0) from = items.indexOf($('.message.focus, .message:target'));
    if (from < 0) from = items.findIndex((i) => i.getBoundingClientRect().bottom > 60) - step;
    const at = Math.min(Math.max(from + step, 0), items.length - 1);
    items.forEach((i, n) => i.classList.toggle('current', n === at));
    items[at].scrollIntoView({ block: 'nearest' });
  }
}

// loads fills the parts of a page that are loaded after it, and the parts of these.
function loads(root = document, signal = undefined) {
  for (const part of all('[data-load]', root)) {
    const path = part.dataset.load;
    fragment(path, signal).then((nodes) => {
      if (part.dataset.load !== path) return; // the user has asked for something else
      part.replaceChildren(nodes);
      part.removeAttribute('data-load');
      showPlace();
      loads(part, signal);
    }, ignoreAbort);
  }
}

function ignoreAbort(e) {
  if (e.name !== 'AbortError') throw e;
}

// searchAsYouType replaces the results while the user types.
function searchAsYouType() {
  const results = $('#results'), form = $('#search-form'), input = $('#q');
  if (!results) return;
  let timer, running;
  const search = async () => {
    form.elements.q.value = input.value;
    const query = new URLSearchParams(new FormData(form));
    for (const [name, value] of [...query]) if (!value) query.delete(name);
    const path = '/search?' + query;
    history.replaceState(null, '', path);
    running?.abort();
    running = new AbortController();
    results.removeAttribute('data-load');
    try {
      results.replaceChildren(await fragment(path, running.signal));
      loads(results, running.signal);
    } catch (e) {
      ignoreAbort(e);
    }
  };
  const soon = () => { clearTimeout(timer); timer = setTimeout(search, 160); };
  input.addEventListener('input', soon);
  form.addEventListener('input', soon);
  form.addEventListener('submit', (e) => { e.preventDefault(); search(); });
  $('.find').addEventListener('submit', (e) => { e.preventDefault(); search(); input.blur(); });
  if (!input.value) input.focus();
}

// mostShown is how many messages the page of a session keeps: scrolling drops
// those that are far away, so that memory stays bounded.
const mostShown = 240;

// scrolling loads messages at both ends of the list when they come near.
function scrolling() {
  const list = $('#messages');
  if (!list) return;
  let busy = false;
  const near = () => {
    const before = $('.page.before', list), after = $('.page.after', list);
    if (busy) return;
    if (before && before.getBoundingClientRect().bottom > -1200) extend(before, true);
    else if (after && after.getBoundingClientRect().top < innerHeight + 1200) extend(after, false);
  };
  async function extend(marker, upwards) {
    busy = true;
    try {
      const nodes = await fragment($('a', marker).href);
      const kept = $('.message', list), from = kept?.getBoundingClientRect().top;
      if (upwards) {
        $('.page.after', nodes)?.remove();
        marker.replaceWith(nodes);
        dropDoubleDays();
        scrollBy(0, kept.getBoundingClientRect().top - from);
        drop(false);
      } else {
        $('.page.before', nodes)?.remove();
        $('.empty', nodes)?.remove();
        marker.replaceWith(nodes);
        dropDoubleDays();
        drop(true);
      }
    } finally {
      busy = false;
    }
    showPlace();
    requestAnimationFrame(near);
  }
  function dropDoubleDays() {
    let day = '';
    for (const n of all('.day, .message', list)) {
      if (n.matches('.day') && n.dataset.day === day) n.remove();
      day = n.dataset.day || day;
    }
  }
  // drop removes messages at one end, and puts a marker that loads them again.
  function drop(first) {
    const messages = all('.message', list), extra = messages.length - mostShown;
    if (extra <= 0) return;
    const edge = first ? messages[extra] : messages.at(-extra - 1), from = edge.getBoundingClientRect().top;
    // A range takes the blanks between messages too: left behind, they make each further
    // window slower.
    const gone = document.createRange();
    gone.selectNodeContents(list);
    if (!first) gone.setStartAfter(edge);
    else gone.setEndBefore(edge.previousElementSibling?.matches('.day') ? edge.previousElementSibling : edge);
    gone.deleteContents();
    const marker = document.createElement('p'), link = document.createElement('a');
    marker.className = 'page ' + (first ? 'before' : 'after');
    link.href = `/session/${list.dataset.session}?${first ? 'before' : 'after'}=${edge.dataset.seq}${list.dataset.all ? '&all=1' : ''}`;
    link.textContent = first ? 'Earlier messages' : 'Later messages';
    marker.append(link);
    if (first) list.prepend(marker); else list.append(marker);
    scrollBy(0, edge.getBoundingClientRect().top - from);
  }
  addEventListener('scroll', () => { near(); showPlace(); }, { passive: true });
  const focus = $('.message.focus', list) || (location.hash && document.getElementById(location.hash.slice(1)));
  if (focus) { focus.scrollIntoView({ block: 'start' }); focus.focus({ preventScroll: true }); }
  requestAnimationFrame(near); // in the frame of that scrolling, earlier messages would move what is read
}

// showPlace marks the messages on the screen in the map.
function showPlace() {
  const svg = $('.icicle svg'), here = svg && $('.here', svg);
  const seen = all('#messages .message').filter((m) => { const r = m.getBoundingClientRect(); return r.bottom > 60 && r.top < innerHeight; });
  if (!here || !seen.length) return;
  const total = Math.max(+svg.dataset.messages, 1), first = +seen[0].dataset.seq, last = +seen.at(-1).dataset.seq;
  here.setAttribute('y', (first - 1) / total * 1000);
  here.setAttribute('height', Math.max((last - first + 1) / total * 1000, 4));
  const link = $('#context-link');
  if (link) link.search = '?at=' + last;
}

// panels shows a summary beside the conversation. The address names it, so that going
// back and reloading show it again.
function panels() {
  const panel = $('#panel');
  if (!panel) return;
  document.addEventListener('click', (e) => {
    const link = e.target.closest('a[data-panel]');
    if (e.ctrlKey || e.metaKey || e.shiftKey) return;
    if (link) {
      e.preventDefault();
      nameSummary(link.getAttribute('href').split('/').at(-1));
      showPanel(named());
      return;
    }
    // A link from the panel to a message of the session keeps the panel where there is
    // room for both.
    const place = e.target.closest('#panel a[href*="?at="]');
    if (place && named() && place.pathname === location.pathname && matchMedia('(min-width: 60.01rem)').matches) {
      const url = new URL(place.href);
      url.searchParams.set('summary', named());
      place.href = url;
    }
  });
  $('.close', panel).addEventListener('click', closePanel);
  addEventListener('popstate', () => showPanel(named()));
  markBlock(named());
}

// named returns the summary that the address names, or null. Any site can link to any
// address, so a value that is not an id is ignored.
function named() {
  const id = new URL(location.href).searchParams.get('summary');
  return /^sum_[0-9a-z]+$/i.test(id) ? id : null;
}

// nameSummary writes the summary that is shown into the address, or none.
function nameSummary(id) {
  const url = new URL(location.href);
  if (id) url.searchParams.set('summary', id); else url.searchParams.delete('summary');
  history.pushState(null, '', url);
}

// showPanel shows a summary in the panel, or hides the panel if there is none.
async function showPanel(id) {
  const panel = $('#panel'), content = $('div', panel);
  const kept = panel.hidden === !id ? null : all('#messages .message').find((m) => m.getBoundingClientRect().bottom > 60);
  const from = kept?.getBoundingClientRect().top;
  markBlock(id);
  const nodes = id && await fragment('/summary/' + id);
  if (named() !== id) return; // the user has gone on
  panel.hidden = !id;
  panel.parentElement.classList.toggle('open', !!id);
  if (kept) scrollBy(0, kept.getBoundingClientRect().top - from); // the lines break elsewhere
  if (!id) return;
  content.removeAttribute('data-load');
  content.replaceChildren(nodes);
  panel.scrollTop = 0;
  panel.focus({ preventScroll: true });
}

function markBlock(id) {
  all('.icicle a').forEach((a) => a.classList.toggle('chosen', a.getAttribute('href') === '/summary/' + id));
}

function closePanel() {
  const panel = $('#panel');
  if (!panel || panel.hidden && !named()) return; // a panel that is loading is hidden
  nameSummary(null);
  showPanel(null);
}

// whole replaces a message that was cut with all of it.
function whole() {
  document.addEventListener('click', async (e) => {
    const link = e.target.closest('a[data-whole]');
    if (!link) return;
    e.preventDefault();
    const nodes = await fragment(link.getAttribute('href'));
    link.closest('.message').replaceWith($('.message', nodes));
  });
}

// live adds new messages to a list that ends with the newest, and says so
// otherwise.
function live() {
  const list = $('#messages'), status = $('#live');
  if (!list) return;
  const source = new EventSource(`/session/${list.dataset.session}/events`);
  addEventListener('pagehide', () => source.close());
  source.addEventListener('messages', async (e) => {
    const total = +e.data;
    if (total <= +list.dataset.total) return;
    if ($('.page.after', list)) {
      const link = document.createElement('a');
      link.href = `/session/${list.dataset.session}?at=${total}`;
      link.textContent = 'New messages';
      status.replaceChildren(link);
      return;
    }
    const last = all('.message', list).at(-1), bottom = innerHeight + scrollY > document.body.scrollHeight - 80;
    list.dataset.total = total;
    const nodes = await fragment(`/session/${list.dataset.session}?after=${last ? last.dataset.seq : 0}${list.dataset.all ? '&all=1' : ''}`);
    $('.page.before', nodes)?.remove();
    all('.empty, .day', nodes).forEach((n) => n.remove());
    list.append(nodes);
    if (bottom) scrollTo(0, document.body.scrollHeight);
  });
}

// sliders shows the context for the chosen message and budget. A slider and the number
// beside it follow each other.
function sliders() {
  const form = $('#context-form'), shown = $('#context');
  if (!form) return;
  let running, timer;
  form.addEventListener('focusin', (e) => { if (e.target.type === 'number') e.target.select(); });
  form.addEventListener('input', (e) => {
    if (e.target.dataset.for) form.elements[e.target.dataset.for].value = e.target.value;
    else $(`[data-for="${e.target.name}"]`, form).value = e.target.value;
    clearTimeout(timer);
    timer = setTimeout(async () => {
      const path = form.getAttribute('action') + '?' + new URLSearchParams(new FormData(form));
      history.replaceState(null, '', path);
      running?.abort();
      running = new AbortController();
      shown.classList.add('busy');
      shown.removeAttribute('data-load');
      try {
        shown.replaceChildren(await fragment(path, running.signal));
        shown.classList.remove('busy');
      } catch (e) {
        ignoreAbort(e);
      }
    }, 200);
  });
}

// zone tells the server the zone of the reader, for times and days. The page is loaded again if
// it was written for another one.
function zone() {
  const name = Intl.DateTimeFormat().resolvedOptions().timeZone, had = document.cookie;
  document.cookie = `lcm_zone=${name}; path=/; samesite=strict`;
  const minutes = -new Date().getTimezoneOffset(), sign = minutes < 0 ? '-' : '+', two = (n) => String(Math.trunc(n)).padStart(2, '0');
  const here = sign + two(Math.abs(minutes) / 60) + ':' + two(Math.abs(minutes) % 60);
  if (document.documentElement.dataset.offset !== here && document.cookie !== had) location.reload();
}

// copying copies a text that the page offers, or the whole of a message. The button of a message
// comes when the pointer or the keyboard does.
function copying() {
  document.addEventListener('click', (e) => {
    const button = e.target.closest('button.copy');
    if (button?.dataset.copy) put(button.dataset.copy, button);
    else if (button) copyMessage(button.closest('.message'));
  });
  for (const event of ['pointerover', 'focusin']) {
    document.addEventListener(event, (e) => {
      const header = $('header', e.target.closest('.message') || document.createElement('p'));
      if (!header || $('.copy', header)) return;
      const button = document.createElement('button');
      button.className = 'copy';
      button.type = 'button';
      button.textContent = 'copy';
      header.append(button);
    });
  }
}

async function put(text, button) {
  await navigator.clipboard.writeText(text);
  if (button) button.textContent = 'copied';
}

// copyMessage copies the text of a message as it is stored; the page may show its beginning alone.
async function copyMessage(message) {
  if (!message) return;
  const { message: { body } } = await (await fetch('/api/message/' + message.id)).json();
  const texts = (parts) => (parts || []).flatMap((p) => p.result ? texts(p.result.output) : p.text || p.call?.arguments || []);
  await put(texts(body.parts).join('\n\n'), $('.copy', message));
}

zone();
keys();
loads();
searchAsYouType();
panels();
whole();
sliders();
scrolling();
live();
copying();
showPlace();
