// Searches the docs in the browser. The index is loaded when the field gets the focus.
import MiniSearch from './minisearch.js'

const MOST = 12
const root = document.body.dataset.root
const field = document.querySelector('#search')
const list = document.querySelector('.results')
const status = document.querySelector('search [role=status]')

let index = null

/** A failed request is retried at the next keystroke. */
function load() {
  index ??= fetch(`${root}/search.json`)
    .then((answer) => {
      if (!answer.ok) throw new Error(`HTTP ${answer.status}`)
      return answer.text()
    })
    .then((text) =>
      MiniSearch.loadJSON(text, { fields: ['page', 'heading', 'text'], storeFields: ['path', 'page', 'heading'] }),
    )
    .catch((error) => {
      index = null
      throw error
    })
  return index
}

async function search() {
  const words = field.value.trim()
  try {
    const loaded = await load()
    if (words !== field.value.trim()) return
    const options = { prefix: true, fuzzy: 0.2, combineWith: 'AND', boost: { heading: 4, page: 2 } }
    show(words === '' ? [] : loaded.search(words, options), words)
  } catch {
    list.replaceChildren()
    status.textContent = 'The search could not be loaded. Check your connection, then reload the page.'
  }
}

function show(found, words) {
  list.replaceChildren(...found.slice(0, MOST).map(resultOf))
  if (words === '') status.textContent = ''
  else if (found.length === 0) status.textContent = `Nothing found for "${words}".`
  else if (found.length > MOST) status.textContent = `Showing the best ${MOST} of ${found.length} results`
  else status.textContent = found.length === 1 ? '1 result' : `${found.length} results`
}

function resultOf({ path, page, heading }) {
  const link = document.createElement('a')
  link.href = `${root}/${path}`
  link.textContent = heading
  const item = document.createElement('li')
  item.append(link)
  if (heading !== page) {
    const where = document.createElement('span')
    where.textContent = page
    item.append(' ', where)
  }
  return item
}

field.addEventListener('focus', () => load().catch(() => {}))
field.addEventListener('input', search)
field.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') {
    field.value = ''
    show([], '')
  } else if (event.key === 'Enter') {
    list.querySelector('a')?.click()
  }
})
field.closest('search').hidden = false
