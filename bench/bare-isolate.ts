import { readFileSync } from 'node:fs'
import ivm from 'isolated-vm'

const SOURCE = readFileSync(new URL('login-hook.js', import.meta.url), 'utf8')
/** Minimal stubs for the API that the hook calls. They record the calls, which are returned as a string. */
const BINDINGS = `const asked = []
globalThis.security = { login: (...a) => (asked.push(a), true), setTenantValue: (...a) => asked.push(a) }
globalThis.i18n = { setLocale: (...a) => asked.push(a) }
globalThis.call = (text) => { const p = JSON.parse(text); const result = onSolutionOpen(null, p); return JSON.stringify({ result, asked }) }`

export type Contestant = { readonly login: (params: string) => string; readonly end: () => void }

/** Measures the minimum cost with isolated-vm: one isolate, scripts compiled once, and a fresh context per login. */
export function freshContexts(): Contestant {
  const isolate = new ivm.Isolate({ memoryLimit: 64 })
  const scripts = [BINDINGS, SOURCE].map((source) => isolate.compileScriptSync(`${source}\n;void 0;`))
  return {
    login(params) {
      const context = isolate.createContextSync()
      for (const script of scripts) script.runSync(context)
      const call = context.global.getSync('call', { reference: true })
      const text = call.applySync(undefined, [params], { timeout: 5000 }) as string
      call.release()
      context.release()
      return text
    },
    end: () => isolate.dispose(),
  }
}

/** Measures the approach that other platforms commonly use: a new isolate per call. */
export function freshIsolates(): Contestant {
  return {
    login(params) {
      const one = freshContexts()
      try {
        return one.login(params)
      } finally {
        one.end()
      }
    },
    end: () => {},
  }
}
