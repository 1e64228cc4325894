import { MAIL_PROPERTIES } from '../../base/config/mail-settings.ts'
import { PROPERTIES } from '../../base/config/properties.ts'
import type { Property } from '../../base/config/property.ts'
import { parseQuantity } from '../../runtime/limits.ts'
import { BUILDER_PROPERTIES } from '../pipelines/builder-settings.ts'
import { CENTER_TELEMETRY_PROPERTIES } from '../telemetry/telemetry-settings.ts'

const {
  HOST,
  PUBLIC_URL,
  PLATFORM_KEY,
  DB_ALPHA_SERVER,
  DB_ALPHA_PORT,
  DB_ALPHA_USERNAME,
  DB_ALPHA_PASSWORD,
  DB_ALPHA_TLS,
  TRUSTED_PROXIES,
  ALLOWED_HOSTS,
  CERTIFICATE_NAME,
  CERTIFICATE_PASS,
  CERTIFICATE_FOLDER,
  HTTP_REDIRECT_PORT,
  HSTS_MAX_AGE,
  DRAIN_TIME,
  LOG_LEVEL,
  RUNTIME_XMS,
  RUNTIME_XMX,
} = PROPERTIES

/**
 * Every environment variable of the control center. If hosts have the same property, its name and format are the same.
 * Properties of a single area are declared in that area's folder.
 */
export const CENTER_PROPERTIES = {
  PORT: { ...PROPERTIES.PORT, default: '8090', what: 'port for pages, the API and Satellites' },
  HOST,
  PUBLIC_URL: { ...PUBLIC_URL, what: 'the URL that browsers and Satellites use; links in emails contain it too' },
  PLATFORM_HOME: {
    ...PROPERTIES.PLATFORM_HOME,
    default: './control-center-data',
    what: 'folder for the control center’s files',
  },
  PLATFORM_DATABASE: {
    ...PROPERTIES.PLATFORM_DATABASE,
    read: (text: string) => (['embedded', 'alpha'] as const).find((kind) => kind === text),
    form: 'one of embedded, alpha',
    what: 'where the control center stores its data: a file, or PostgreSQL',
  },
  PLATFORM_DATABASE_NAME: {
    ...PROPERTIES.PLATFORM_DATABASE_NAME,
    default: 'control_center',
    what: 'name of the control center’s database on the PostgreSQL server',
  },
  DB_ALPHA_SERVER,
  DB_ALPHA_PORT,
  DB_ALPHA_USERNAME,
  DB_ALPHA_PASSWORD,
  DB_ALPHA_TLS,
  PLATFORM_KEY: {
    ...PLATFORM_KEY,
    what: 'key that encrypts secrets and signs tokens; must be the same at every start',
  },
  ...MAIL_PROPERTIES,
  MAILS_HOURLY: {
    ...MAIL_PROPERTIES.MAILS_HOURLY,
    what: 'maximum number of emails per organisation per hour; the limit applies separately to emails sent by members and emails requested by users on login pages',
  },
  TRUSTED_PROXIES,
  ALLOWED_HOSTS,
  CERTIFICATE_NAME,
  CERTIFICATE_PASS,
  CERTIFICATE_FOLDER,
  HTTP_REDIRECT_PORT,
  HSTS_MAX_AGE,
  DRAIN_TIME,
  LOG_LEVEL: { ...LOG_LEVEL, what: 'level of the control center’s own log' },
  REGISTRY_ALLOWED_HOSTS: {
    ...PROPERTIES.HTTP_ALLOWED_HOSTS,
    what: 'image registries, in private networks or on this machine, that pipelines may use',
  },
  ORGANISATION_STORAGE: {
    default: '10g',
    read: (text: string) => parseQuantity('size', text) ?? undefined,
    form: 'a size such as 10g',
    what: 'maximum storage for the packages and artifacts of one organisation',
  },
  RUNTIME_XMS: {
    ...RUNTIME_XMS,
    default: '64m',
    what: 'memory use below which the control center starts spare sandbox processes',
  },
  RUNTIME_XMX: {
    ...RUNTIME_XMX,
    default: '1g',
    what: 'maximum memory for the control center, including its processes that check bundles',
  },
  ...BUILDER_PROPERTIES,
  ...CENTER_TELEMETRY_PROPERTIES,
} as const satisfies Record<string, Property>
