// The login for the workerd contestant. It runs after `login-hook.js` in the worker's global scope.
// biome-ignore-all lint/correctness: names that are not declared here are in `login-hook.js` or in workerd
let effects = null

globalThis.security = {
  login(username, uid, permissions) {
    effects.login = { username, uid, permissions }
    return true
  },
  setTenantValue(tenant) {
    effects.tenant = tenant
  },
}
globalThis.i18n = {
  setLocale(language, country) {
    effects.locale = `${language}-${country}`
  },
}

/** The newest sessions; a real platform would store them in a database. */
const sessions = new Map()
const MOST_SESSIONS = 10_000

addEventListener('fetch', (event) => event.respondWith(answer(event.request)))

async function answer(request) {
  const url = new URL(request.url)
  const form = new URLSearchParams(await request.text())
  const { csrf_token: token, ...queryParams } = Object.fromEntries(form)
  if (request.method !== 'POST' || !token || !readCookie(request, 'login-w2')) return new Response('', { status: 403 })
  effects = { login: null, tenant: null, locale: null }
  const values = JSON.parse(onSolutionOpen(null, queryParams))
  if (effects.login === null) return new Response(values.errorMessage, { status: 401 })
  const cookie = randomText(32)
  sessions.set(cookie, { ...effects.login, tenant: effects.tenant, locale: effects.locale, at: Date.now() })
  if (sessions.size > MOST_SESSIONS) sessions.delete(sessions.keys().next().value)
  const headers = new Headers(HEADERS)
  headers.set('X-Correlation-Id', randomText(8))
  headers.set('Location', url.pathname)
  headers.append('Set-Cookie', `session-w2=${cookie}; path=/solution/w2/; samesite=lax; httponly`)
  headers.append('Set-Cookie', `login-w2=${randomText(24)}; path=/solution/w2/; samesite=lax; httponly`)
  return new Response('See Other', { status: 303, headers })
}

function readCookie(request, name) {
  const pairs = (request.headers.get('Cookie') ?? '').split('; ').map((pair) => pair.split('='))
  return pairs.find(([one]) => one === name)?.[1]
}

function randomText(bytes) {
  return btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(bytes))))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
}
