import type { GuestApi } from '../../runtime/sandbox/guest-api.d.ts'
import { createLater } from './later.guest.ts'

type Settings = {
  readonly name: string
  readonly version: string
  readonly platform: string
  readonly environment: string
  readonly forms: readonly string[]
}
type Level = 'debug' | 'info' | 'warn' | 'error'

export default function application(api: GuestApi<Settings, string>) {
  const { safe } = api
  const later = createLater(api)
  let settings: Settings = { name: '', version: '', platform: '', environment: '', forms: [] }
  const levels: { readonly __proto__: null; readonly [name: string]: Level | null } = {
    __proto__: null,
    debug: 'debug',
    info: 'info',
    warn: 'warn',
    warning: 'warn',
    error: 'error',
    fatal: 'error',
  }
  const loggingLevel = { __proto__: null, DEBUG: 0, INFO: 1, WARNING: 2, ERROR: 3, FATAL: 4 }
  const numbered: readonly Level[] = ['debug', 'info', 'warn', 'error', 'error']
  // A solution may define its own LOGGINGLEVEL, as many existing solutions do.
  safe.defineProperty(globalThis, 'LOGGINGLEVEL', {
    value: safe.freeze(loggingLevel),
    writable: true,
    enumerable: true,
    configurable: true,
  })

  api.onLoad((loaded) => {
    settings = loaded
  })

  function readLevel(value: unknown): Level {
    if (value === undefined || value === null) return 'info'
    if (typeof value === 'string') {
      const level = levels[safe.lowerCase(value)]
      if (typeof level === 'string') return level
    }
    if (typeof value === 'number' && safe.hasOwn(numbered, `${value}`)) return numbered[value] as Level
    throw new safe.TypeError(
      'application.output: level must be "debug", "info", "warning" or "error", or a constant of LOGGINGLEVEL',
    )
  }

  function readAddress(value: unknown): string {
    if (typeof value === 'string' && api.isAllowedAddress(value)) return value
    throw new safe.TypeError(
      'application.showURL: url must be an http, https or mailto URL, or a path that starts with "/", with at most 2048 characters',
    )
  }

  function isForm(name: string): boolean {
    for (let index = 0; index < settings.forms.length; index++) if (settings.forms[index] === name) return true
    return false
  }

  function needClient(method: string): void {
    if (!api.isClient)
      throw new safe.TypeError(`application.${method} can be called only in an open client, not during a sign-in`)
  }

  function optionalText(value: unknown, what: string, longest: number): string | null {
    if (value === undefined || value === null) return null
    if (typeof value === 'string' && value.length <= longest) return value
    throw new safe.TypeError(`application.closeSolution: ${what} must be a string of at most ${longest} characters`)
  }

  return {
    output(message: unknown, level?: unknown): void {
      api.log(readLevel(level), safe.describe(message))
    },
    showURL(url: unknown, target?: unknown): void {
      const address = readAddress(url)
      const named = typeof target === 'string' && target !== ''
      if (named && safe.match(/^[A-Za-z_][A-Za-z0-9_-]{0,99}$/, target) === null) {
        throw new safe.TypeError('application.showURL: target must be a window name such as "_self"')
      }
      api.command('showURL', [address, named ? target : null])
    },
    showForm(form: unknown): void {
      if (typeof form !== 'string' || !isForm(form)) {
        throw new safe.TypeError(`application.showForm: the solution has no form ${safe.describe(form)}`)
      }
      // In a client, show the form directly, which fires its life-cycle events. Otherwise, send a command to the host.
      const show = api.offered('showForm')
      if (show === null) api.command('showForm', [form])
      else if (!show(form))
        throw new safe.TypeError(
          `application.showForm: the form ${form} is not available to clients; move it to the solution or to a module that does not sign users in`,
        )
    },
    closeSolution(solution?: unknown, method?: unknown, argument?: unknown): void {
      needClient('closeSolution')
      const target = optionalText(solution, 'solution', 63)
      const given = optionalText(argument, 'argument', 2048)
      if (method !== undefined && method !== null) {
        api.log(
          'warn',
          'application.closeSolution ignores "method"; to pass a value to the next solution, use "argument", which its onSolutionOpen receives',
        )
      }
      api.command('closeSolution', [target, given])
    },
    executeLater(callback: unknown, milliseconds: unknown, args?: unknown): number {
      needClient('executeLater')
      return later.execute(callback, milliseconds, args)
    },
    cancelLater(id: unknown): boolean {
      needClient('cancelLater')
      return later.cancel(id)
    },
    getSolutionName: (): string => settings.name,
    getSolutionVersion: (): string => settings.version,
    getServerURL: (): string | null => api.state(),
    getVersion: (): string => settings.platform,
    getUUID: (): string => api.uuid(),
    getEnvironment: (): string => settings.environment,
  }
}
