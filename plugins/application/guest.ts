import type { GuestApi } from '../../runtime/sandbox/guest-api.d.ts'

type Settings = {
  readonly name: string
  readonly version: string
  readonly environment: string
  readonly forms: readonly string[]
}
type Level = 'debug' | 'info' | 'warn' | 'error'

export default function application(api: GuestApi<Settings, string>) {
  const { safe } = api
  let settings: Settings = { name: '', version: '', environment: '', forms: [] }
  const levels: Record<string, Level> = {
    __proto__: null,
    debug: 'debug',
    info: 'info',
    warn: 'warn',
    warning: 'warn',
    error: 'error',
  } as never

  api.onLoad((loaded) => {
    settings = loaded
  })

  function readLevel(value: unknown): Level {
    if (value === undefined || value === null) return 'info'
    const level = typeof value === 'string' ? levels[safe.lowerCase(value)] : undefined
    if (level !== undefined) return level
    throw new safe.TypeError('application.output: level must be "debug", "info", "warning" or "error"')
  }

  function readAddress(value: unknown): string {
    if (typeof value === 'string' && api.isAllowedAddress(value)) return value
    throw new safe.TypeError(
      'application.showURL: url must be an http, https or mailto address or a path that starts with "/", at most 2048 characters',
    )
  }

  function isForm(name: string): boolean {
    for (let index = 0; index < settings.forms.length; index++) if (settings.forms[index] === name) return true
    return false
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
      // A client goes through the life of its forms; elsewhere the host is told.
      const show = api.offered('showForm')
      if (show === null) api.command('showForm', [form])
      else if (!show(form)) throw new safe.TypeError(`application.showForm: clients have no form ${form}`)
    },
    getSolutionName: (): string => settings.name,
    getSolutionVersion: (): string => settings.version,
    getServerURL: (): string | null => api.state(),
    getUUID: (): string => api.uuid(),
    getEnvironment: (): string => settings.environment,
  }
}
