import { expect, test } from 'vitest'
import { misspeltNames } from '../../../base/config/misspelt.ts'
import { PROPERTIES } from '../../../base/config/properties.ts'
import { CENTER_PROPERTIES } from '../../../control-center/config/properties.ts'
import { readCenterSettings } from '../../../control-center/config/settings.ts'
import { readSettings } from '../../../host/config/settings.ts'
import { LIMITS } from '../../../runtime/limits.ts'

test.each([
  ['SOLUTION_ORIGN', 'SOLUTION_ORIGIN'],
  ['PLATFROM_HOME', 'PLATFORM_HOME'],
  ['ENVIROMENT', 'ENVIRONMENT'],
  ['platform_database', 'PLATFORM_DATABASE'],
  ['DB_ALPHA_PASWORD_FILE', 'DB_ALPHA_PASSWORD_FILE'],
  ['REMOTE_ENVIROMENT_TOCEN', 'REMOTE_ENVIRONMENT_TOKEN'],
  ['SESSION_IDEL', 'SESSION_IDLE'],
  ['TRUSTED_PROXY', null],
  ['TRUSTED_PROXIS', 'TRUSTED_PROXIES'],
])('settings: if %s is set, a message at startup suggests %s', (name, meant) => {
  const read = () => readSettings({ [name]: '1' })
  if (meant === null) expect(read).not.toThrow()
  else expect(read).toThrow(`${name} is not a Solhost setting. Did you mean ${meant}?`)
})

test('settings: the control center recognizes its own properties and a host’s properties', () => {
  expect(() => readCenterSettings({ SMPT_URL: 'smtp://127.0.0.1', MAIL_FORM: 'a@example.org' })).toThrow(
    /SMPT_URL is not a Solhost setting\. Did you mean SMTP_URL\?.*\n +MAIL_FORM is not a Solhost setting\. Did you mean MAIL_FROM\?/,
  )
  expect(() => readCenterSettings({ SOLUTION_ORIGN: '' })).toThrow('Did you mean SOLUTION_ORIGIN?')
  expect(readCenterSettings({ SOLUTION_ORIGIN: 'https://{name}.example.org' }).port).toBe(8090)
})

test('settings: other programs’ variables are ignored', () => {
  const others = [
    ...[
      'HOME',
      'HOST',
      'HOSTNAME',
      'PORTS',
      'POST',
      'PATH',
      'TZ',
      'LANG',
      'LOGNAME',
      'USER',
      'SHELL',
      'TERM',
      'LOG_FILE',
    ],
    ...['NODE_ENV', 'NODE_OPTIONS', 'NODE_EXTRA_CA_CERTS', 'HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'http_proxy'],
    ...['OTEL_SERVICE_NAME', 'OTEL_TRACES_SAMPLER', 'OTEL_METRICS_EXPORTER', 'OTEL_LOGS_EXPORTER', 'OTEL_SDK_DISABLED'],
    ...['OTEL_METRIC_EXPORT_TIMEOUT', 'OTEL_EXPORTER_OTLP_INSECURE', 'OTEL_EXPORTER_OTLP_TRACES_TIMEOUT'],
    ...['KUBERNETES_SERVICE_HOST', 'SOLHOST_PORT', 'SOLHOST_SERVICE_PORT', 'DB_ALPHA_SERVICE_HOST'],
    ...['DB_ALPHA_PORT_5432_TCP', 'DB_PASSWORD', 'POSTGRES_PASSWORD', 'AWS_ACCESS_KEY_ID', 'SOLHOST_TOKEN'],
    ...['SOLHOST_PASSWORD', 'SOLHOST_LAUNCHER', 'XDG_RUNTIME_DIR', 'STORAGE_DRIVER', 'npm_config_cache'],
  ]
  expect(
    readSettings(Object.fromEntries(others.map((name) => [name, '8080']).filter(([name]) => name !== 'HOST'))),
  ).toMatchObject({ port: 8080 })
})

test('settings: a host does not report a control center’s property as a misspelling', () => {
  const host = [...Object.keys(PROPERTIES), ...Object.keys(LIMITS)]
  const ofCenter = Object.keys(CENTER_PROPERTIES).filter((name) => !host.includes(name))
  expect(ofCenter).toContain('REGISTRY_ALLOWED_HOSTS')
  expect(misspeltNames(Object.fromEntries(ofCenter.map((name) => [name, ''])), host)).toEqual([])
})
