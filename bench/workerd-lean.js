// A minimal login in workerd, which runs after `login-hook.js` in the worker's global scope. The session is a signed
// cookie, so nothing is stored, and only the headers that the login needs are set.
// biome-ignore-all lint/correctness: names that are not declared here are in `login-hook.js` or in workerd
let login = null

globalThis.security = {
  login(username, uid, permissions) {
    login = { username, uid, permissions }
    return true
  },
  setTenantValue() {},
}
globalThis.i18n = { setLocale() {} }

const encoder = new TextEncoder()
const key = crypto.subtle.importKey(
  'raw',
  encoder.encode('key of the bench'),
  { name: 'HMAC', hash: 'SHA-256' },
  false,
  ['sign'],
)

addEventListener('fetch', (event) => event.respondWith(answer(event.request)))

async function answer(request) {
  const { csrf_token: token, ...queryParams } = Object.fromEntries(new URLSearchParams(await request.text()))
  if (!token) return new Response('', { status: 403 })
  login = null
  onSolutionOpen(null, queryParams)
  const accepted = login
  if (accepted === null) return new Response('', { status: 401 })
  const content = JSON.stringify({ ...accepted, at: Date.now() })
  const signature = await crypto.subtle.sign('HMAC', await key, encoder.encode(content))
  const cookie = `${btoa(content)}.${btoa(String.fromCharCode(...new Uint8Array(signature)))}`
  const headers = { Location: '/solution/w2/index.html', 'Set-Cookie': `session-w2=${cookie}; path=/; httponly` }
  return new Response('See Other', { status: 303, headers })
}
