import { readSettings, type Settings } from '../../host/config/settings.ts'
import { DEV_HOST } from './free-port.ts'

/**
 * Properties that `dev` sets itself, overriding the values that the shell sets for another host: addresses, identity
 * and storage. All other properties apply: database servers, allowed hosts, limits, time zone.
 */
const OWN = {
  HOST: DEV_HOST,
  ADMIN_HOST: DEV_HOST,
  PUBLIC_URL: '',
  SOLUTION_ORIGIN: '',
  TRUSTED_PROXIES: '',
  ALLOWED_HOSTS: '',
  DEFAULT_SOLUTION: '',
  START_PAGE: 'list',
  PLATFORM_DATABASE: 'embedded',
  PLATFORM_KEY: '',
  PLATFORM_KEY_FILE: '',
  ENVIRONMENT: 'dev',
  REMOTE_ENVIRONMENT_TOKEN: '',
  REMOTE_ENVIRONMENT_TOKEN_FILE: '',
  METRICS_PORT: '',
  OTEL_EXPORTER_OTLP_ENDPOINT: '',
  OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: '',
  OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: '',
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: '',
  CERTIFICATE_NAME: '',
  CERTIFICATE_PASS: '',
  CERTIFICATE_PASS_FILE: '',
  HTTP_REDIRECT_PORT: '',
}

/** @throws ERR_SETTINGS_INVALID */
export function devSettings(
  environment: Readonly<Record<string, string | undefined>>,
  { home, port, adminPort }: { readonly home: string; readonly port: number; readonly adminPort: number },
): Settings {
  const places = { PLATFORM_HOME: home, PORT: String(port), ADMIN_PORT: String(adminPort) }
  // Hides most of the host's log, because it is for operators. The solution's own problems are in the solution's log.
  return readSettings({ LOG_LEVEL: 'warn', ...environment, ...OWN, ...places })
}
