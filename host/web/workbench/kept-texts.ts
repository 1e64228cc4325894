// Stores texts in this browser's IndexedDB until the host has confirmed them. Each open page has its own entries, so
// two tabs with the same file don't overwrite each other's text.

export type KeptText = {
  readonly draft: string
  readonly path: string
  /** The page that wrote the text. */
  readonly page: string
  /** The etag of the host's content that the text is based on; null if the host had no such file. */
  readonly etag: string | null
  readonly text: string
  /** Texts that were sent, and that the host may have stored although its response was lost. */
  readonly sent: readonly string[]
  readonly time: number
}

const STORE = 'texts'
/** Identifies this page while it is open. */
const pageId = `${Date.now().toString(36)}-${Math.random().toString(36).slice(2)}`
const lockName = (page: string) => `solhost-workbench-${page}`

let opened: Promise<IDBDatabase> | undefined

/**
 * Marks this page as open, so that other pages leave its entries alone. Browsers release the lock when the page closes.
 */
export function markPageOpen(): void {
  void navigator.locks?.request(lockName(pageId), () => new Promise(() => {}))
}

export function keepText(entry: Omit<KeptText, 'page' | 'time'>): Promise<void> {
  return inStore('readwrite', (store) => store.put({ ...entry, page: pageId, time: Date.now() })).then(() => {})
}

export function forgetText(draft: string, path: string, page = pageId): Promise<void> {
  return inStore('readwrite', (store) => store.delete([draft, path, page])).then(() => {})
}

/** The entries of pages that are no longer open, oldest first. */
export async function abandonedTexts(draft: string): Promise<readonly KeptText[]> {
  const held = new Set(((await navigator.locks?.query())?.held ?? []).map(({ name }) => name))
  const all = (await inStore('readonly', (store) => store.getAll())) as readonly KeptText[]
  return all
    .filter((entry) => entry.draft === draft && entry.page !== pageId && !held.has(lockName(entry.page)))
    .sort((one, other) => one.time - other.time)
}

async function inStore<Result>(
  mode: IDBTransactionMode,
  act: (store: IDBObjectStore) => IDBRequest<Result>,
): Promise<Result> {
  opened ??= openTexts()
  const transaction = (await opened).transaction(STORE, mode)
  const request = act(transaction.objectStore(STORE))
  // Commit explicitly. Otherwise, the browser commits only after the request's event, which does not fire if the page
  // is closed first.
  transaction.commit()
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve(request.result)
    transaction.onerror = () => reject(transaction.error)
    transaction.onabort = () => reject(transaction.error)
  })
}

function openTexts(): Promise<IDBDatabase> {
  const request = indexedDB.open('solhost-workbench', 1)
  request.onupgradeneeded = () => request.result.createObjectStore(STORE, { keyPath: ['draft', 'path', 'page'] })
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
}
