import type { KeptClient } from './exchange.ts'

/** The format of client ids. Stored ids are checked, because any script on this origin can write to the storage. */
const ID = /^[\w-]{43}$/

/**
 * Stores the client id in the tab's session storage if the browser allows it, otherwise in memory.
 * @param socket the WebSocket's URL, which contains the solution's name
 */
export function createKeptClient(socket: string): KeptClient {
  const key = `client ${new URL(socket, location.href).pathname}`
  let id = stored(key)
  return {
    get id() {
      return id
    },
    isReload: isReload(),
    keep(next) {
      id = next
      store(key, next)
    },
    forget() {
      id = null
      store(key, null)
    },
  }
}

function stored(key: string): string | null {
  try {
    const id = sessionStorage.getItem(key)
    return id !== null && ID.test(id) ? id : null
  } catch {
    return null
  }
}

function store(key: string, id: string | null): void {
  try {
    if (id === null) sessionStorage.removeItem(key)
    else sessionStorage.setItem(key, id)
  } catch {
    // The storage is blocked or full, so a reload will open a new client.
  }
}

/** Whether the browser loaded the page again, or restored it from the history. */
function isReload(): boolean {
  const [navigation] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[]
  return navigation?.type !== 'navigate'
}
