import { isIP } from 'node:net'
import proxyAddr from 'proxy-addr'
import { isTimeZone } from '../../runtime/bundle/schedule.ts'
import { readHostPort } from '../../runtime/host-port.ts'
import { parseQuantity } from '../../runtime/limits.ts'
import { UNFIT } from '../../runtime/visible-name.ts'
import { z } from '../../runtime/zod.ts'
import { KIND_NAMES } from '../database/kind.ts'
import { CLOUD_PROPERTIES } from './cloud-properties.ts'
import { MAIL_PROPERTIES } from './mail-settings.ts'
import type { Property } from './property.ts'
import { TELEMETRY_PROPERTIES } from './telemetry-properties.ts'

const ENVIRONMENTS = ['none', 'onprem', 'dev', 'uat', 'preprod', 'prod', 'demo', 'e2e'] as const
const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const
/** Maximum of `DRAIN_TIME`, in ms. Orchestrators kill processes that take longer to stop. */
const LONGEST_DRAIN = 10 * 60_000

export type Environment = (typeof ENVIRONMENTS)[number]
export type LogLevel = (typeof LOG_LEVELS)[number]

const alpha = serverProperties('dev-alpha-service', 'alpha (PostgreSQL)', 'postgres', '5432')
const beta = serverProperties('dev-beta-service', 'beta (Microsoft SQL Server)', 'sa', '1433')
const gamma = serverProperties('dev-gamma-service', 'gamma (MySQL or MariaDB)', 'root', '3306')

/**
 * All environment variables of a host, with their defaults and allowed values. The limits (`runtime/limits.ts`) are
 * properties too. They are defined here because the control center shares many of them. It also recognises all of a
 * host's properties when it checks for typos, because both services can share an environment.
 */
export const PROPERTIES = {
  PORT: {
    default: '8080',
    read: readPort,
    form: 'a port from 0 to 65535 (0 for any free port)',
    what: 'port for solutions’ pages and the API',
  },
  HOST: { default: '127.0.0.1', read: readWord, form: 'an IP address or host name', what: 'address to listen on' },
  ADMIN_PORT: { default: '8081', read: readPort, form: 'a port from 0 to 65535', what: 'port for the admin pages' },
  ADMIN_HOST: {
    default: '127.0.0.1',
    read: readWord,
    form: 'an IP address or host name',
    what: 'address for the admin pages',
  },
  PUBLIC_URL: {
    default: '',
    read: (text) => (text === '' ? null : readOrigin(text)),
    form: 'an origin such as https://apps.example.org, without a path',
    what: 'the URL that browsers use to reach this host',
  },
  SOLUTION_ORIGIN: {
    default: '',
    read: (text) => (text === '' ? null : readSolutionOrigin(text)),
    form: 'an origin whose host name starts with "{name}.", such as https://{name}.apps.example.org',
    what: 'URL pattern that gives each solution its own host name, and therefore its own origin',
  },
  PLATFORM_HOME: { default: './data', read: readWord, form: 'a folder', what: 'folder for the platform’s files' },
  PLATFORM_DATABASE: {
    default: 'embedded',
    read: oneOf(KIND_NAMES),
    form: `one of ${KIND_NAMES.join(', ')}`,
    what: 'where the platform stores its data: embedded (a file), alpha (PostgreSQL), beta (Microsoft SQL Server) or gamma (MySQL or MariaDB)',
  },
  PLATFORM_DATABASE_NAME: {
    default: 'platform',
    read: (text) => (/^[A-Za-z0-9_][A-Za-z0-9_-]{0,62}$/.test(text) ? text : undefined),
    form: '1 to 63 letters, digits, underscores and hyphens',
    what: 'name of the platform’s database on the database server',
  },
  DB_ALPHA_SERVER: alpha.SERVER,
  DB_ALPHA_PORT: alpha.PORT,
  DB_ALPHA_USERNAME: alpha.USERNAME,
  DB_ALPHA_PASSWORD: alpha.PASSWORD,
  DB_ALPHA_TLS: alpha.TLS,
  DB_BETA_SERVER: beta.SERVER,
  DB_BETA_PORT: beta.PORT,
  DB_BETA_USERNAME: beta.USERNAME,
  DB_BETA_PASSWORD: beta.PASSWORD,
  DB_BETA_TLS: beta.TLS,
  DB_GAMMA_SERVER: gamma.SERVER,
  DB_GAMMA_PORT: gamma.PORT,
  DB_GAMMA_USERNAME: gamma.USERNAME,
  DB_GAMMA_PASSWORD: gamma.PASSWORD,
  DB_GAMMA_TLS: gamma.TLS,
  PLATFORM_KEY: {
    default: '',
    read: (text) => (text === '' || text.length >= 32 ? text : undefined),
    form: 'at least 32 characters; if empty, a key is generated once and stored in PLATFORM_HOME',
    what: 'key that signs tokens and encrypts secrets',
    secret: true,
  },
  DEFAULT_SOLUTION: {
    default: '',
    read: (text) =>
      text === ''
        ? null
        : z
            .string()
            .regex(/^[a-z0-9][a-z0-9-]{0,62}$/)
            .safeParse(text).data,
    form: 'the name of a solution',
    what: 'the solution that "/" redirects to',
  },
  START_PAGE: {
    default: 'list',
    read: oneOf(['list', 'none']),
    form: 'one of list, none',
    what: 'what "/" shows if DEFAULT_SOLUTION is not set: the list of solutions, or the error page "Page not found"',
  },
  PASSWORD_HELP: {
    default: '',
    read: (text) => (text.length <= 300 && !UNFIT.test(text) ? text.trim() : undefined),
    form: 'at most 300 visible characters',
    what: 'text on the default login page for users who forgot their password, such as a help desk’s phone number; if empty, no text is shown',
  },
  ...MAIL_PROPERTIES,
  WORKBENCH: {
    default: 'edit',
    read: oneOf(['edit', 'read', 'off']),
    form: 'one of edit, read, off',
    what: 'whether authors can edit solutions in the workbench on the admin pages. "edit": yes, but solutions that a control center manages are read-only. "read": all solutions are read-only. "off": the workbench is turned off',
  },
  PASSKEYS: {
    default: 'auto',
    read: oneOf(['auto', 'on', 'off']),
    form: 'one of auto, on, off',
    what: 'where users can use passkeys. "auto": on loopback host names, and on all host names if SOLUTION_ORIGIN is set. "on": also if solutions share an origin. One solution’s page can then use another solution’s passkeys. "off": nowhere',
  },
  PASSKEY_DOMAIN: {
    default: '',
    read: (text) => (text === '' ? null : readPasskeyDomain(text)),
    form: 'a domain such as apps.example.org (not an IP address, not a single label, and not under localhost, local, internal or intern)',
    what: 'parent domain of SOLUTION_ORIGIN. If it is set, one passkey works in all solutions; if not, each solution has its own passkeys',
  },
  SOLUTIONS_FOLDER: {
    default: '',
    read: (text) => (text === '' ? '' : readWord(text)),
    form: 'a folder with bundles named {name}.zip; if empty, the host uploads none',
    what: 'folder with solutions to upload at startup, for example in a container image. The host skips a solution that already has exactly that version. If this is set, the host doesn’t create example solutions',
  },
  TRUSTED_PROXIES: {
    default: '',
    read: readAddresses,
    form: 'addresses or networks such as 10.0.0.0/8, separated by commas',
    what: 'proxies whose X-Forwarded-* headers are trusted',
  },
  ALLOWED_HOSTS: {
    default: '',
    read: readHosts,
    form: 'host names separated by commas',
    what: 'additional host names under which browsers can open the pages',
  },
  CERTIFICATE_NAME: {
    default: '',
    read: readFileName,
    form: 'the name of a file in CERTIFICATE_FOLDER, without a path',
    what: 'PKCS12 file with a certificate and its private key; if set, the host serves TLS',
  },
  CERTIFICATE_PASS: {
    default: '',
    read: (text) => (text.length <= 1000 ? text : undefined),
    form: 'at most 1000 characters',
    what: 'password for the certificate file',
    secret: true,
  },
  CERTIFICATE_FOLDER: {
    default: '/usr/local/platform-certificate',
    read: readWord,
    form: 'a folder',
    what: 'folder that contains the certificate file',
  },
  HTTP_REDIRECT_PORT: {
    default: '',
    read: (text) => (text === '' ? null : readPort(text)),
    form: 'a port from 0 to 65535 (0 for any free port); if empty, none',
    what: 'a port without TLS that only redirects browsers to https',
  },
  HSTS_MAX_AGE: {
    default: '365d',
    read: (text) => (text === '0' ? 0 : (parseQuantity('time', text) ?? undefined)),
    form: 'a time such as 365d, or 0 to let browsers use http again',
    what: 'how long browsers use only https (the max-age of the Strict-Transport-Security header)',
  },
  HTTP_ALLOWED_HOSTS: {
    default: '',
    read: readPlaces,
    form: 'host:port entries separated by commas',
    what: 'hosts in private networks or on this machine that solutions may reach with plugins.http.fetch; the operator must also grant them to each solution',
  },
  OAUTH_ALLOWED_HOSTS: {
    default: '',
    read: readPlaces,
    form: 'host:port entries separated by commas',
    what: 'OAuth providers in private networks or on this machine that the host may connect to',
  },
  DRAIN_TIME: {
    default: '0s',
    read: (text) => {
      const time = parseQuantity('time', text)
      return time !== null && time <= LONGEST_DRAIN ? time : undefined
    },
    form: 'a time such as 10s, at most 10m',
    what: 'how long a stopping host still serves requests. During this time, it reports that it isn’t ready, so that load balancers use other hosts',
  },
  LOG_LEVEL: {
    default: 'info',
    read: oneOf(LOG_LEVELS),
    form: `one of ${LOG_LEVELS.join(', ')}`,
    what: 'minimum level of the lines in the platform’s own log',
  },
  SERVLET_USERNAME: {
    default: 'admin',
    read: (text) => (/^[^:\p{Cc}]{1,100}$/u.test(text) ? text : undefined),
    form: '1 to 100 characters without a colon',
    what: 'name of the admin account',
  },
  SERVLET_PASSWORD: {
    default: '',
    read: (text) => (text.length <= 1000 ? text : undefined),
    form: 'at most 1000 characters; if empty, a password is generated on the first start',
    what: 'password of the admin account',
    secret: true,
  },
  ADMIN_SECOND_FACTOR: {
    default: 'optional',
    read: oneOf(['off', 'optional', 'required']),
    form: 'one of off, optional, required',
    what: 'whether the admin account needs a second factor. "off": never. "optional": only if one is set up. "required": always',
  },
  RUNTIME_XMS: {
    default: '256m',
    read: readSize,
    form: 'a size such as 256m',
    what: 'memory limit for additional spare sandbox processes. The host starts them only while its total memory use is lower. One spare process is always ready',
  },
  RUNTIME_XMX: {
    default: '3g',
    read: (text) => ((readSize(text) ?? 0) >= LEAST_MEMORY ? readSize(text) : undefined),
    form: 'a size such as 3g, at least 320m',
    what: 'maximum memory of the host and all sandbox processes together',
  },
  TIMEZONE: {
    default: 'Etc/UTC',
    read: (text) => (isTimeZone(text) ? text : undefined),
    form: 'a time zone such as Europe/Brussels',
    what: 'time zone of the server and of scripts',
  },
  ENVIRONMENT: {
    default: 'none',
    read: oneOf(ENVIRONMENTS),
    form: `one of ${ENVIRONMENTS.join(', ')}`,
    what: 'kind of environment; scripts read it with application.getEnvironment()',
  },
  PLATFORM_TESTING_MODE: {
    default: 'false',
    read: (text) => (text === 'true' ? true : text === 'false' ? false : undefined),
    form: 'true or false',
    what: 'whether end-to-end testing is on. If it is, elements have data-cy attributes, and the admin account can set the clock and turn off the limit on sign-in attempts',
  },
  ...CLOUD_PROPERTIES,
  ...TELEMETRY_PROPERTIES,
} as const satisfies Record<string, Property>

/** The properties of a database server. They are the same for all three kinds of server. */
function serverProperties(host: string, title: string, username: string, port: string) {
  return {
    SERVER: {
      default: host,
      read: readHost,
      form: 'a host name or an IP address',
      what: `host of the database server ${title}`,
    },
    PORT: {
      default: port,
      read: (text: string) => (text === '0' ? undefined : readPort(text)),
      form: 'a port from 1 to 65535',
      what: `port of the database server ${title}`,
    },
    USERNAME: {
      default: username,
      read: (text: string) => (text.length <= 128 ? readWord(text) : undefined),
      form: '1 to 128 characters',
      what: `account for signing in to the database server ${title}`,
    },
    PASSWORD: {
      default: '',
      read: (text: string) => (text.length <= 1000 ? text : undefined),
      form: 'at most 1000 characters',
      what: `password of the account for the database server ${title}`,
      secret: true,
    },
    TLS: {
      default: 'off',
      read: oneOf(['off', 'on', 'verify']),
      form: 'off, on (encrypted) or verify (encrypted, and the certificate must be valid for the host name)',
      what: `whether the connection to the database server ${title} is encrypted`,
    },
  } as const
}

/**
 * Minimum memory in bytes. It is enough for the host, a sandbox process that checks an upload, and one that serves
 * requests.
 */
export const LEAST_MEMORY = 320 * 1024 ** 2

function readSize(text: string): number | undefined {
  return parseQuantity('size', text) ?? undefined
}

function readPort(text: string): number | undefined {
  return /^\d{1,5}$/.test(text) && Number(text) <= 65_535 ? Number(text) : undefined
}

/** Accepts an empty string, or a file name that can't point outside its folder. */
function readFileName(text: string): string | undefined {
  return text.length <= 255 && !/[/\\\p{Cc}]/u.test(text) && text !== '.' && text !== '..' ? text : undefined
}

function readWord(text: string): string | undefined {
  return text !== '' && !/[\p{Cc}]/u.test(text) ? text : undefined
}

function readHost(text: string): string | undefined {
  const host = text.replace(/^\[(.*)\]$/, '$1')
  return host.length <= 253 && /^[A-Za-z0-9_](?:[A-Za-z0-9._-]*)$|^[0-9a-fA-F:.]+$/.test(host) ? host : undefined
}

function oneOf<const T extends readonly string[]>(values: T): (text: string) => T[number] | undefined {
  return (text) => values.find((value) => value === text)
}

function readOrigin(text: string): URL | undefined {
  const url = URL.parse(text)
  const plain = url !== null && /^https?:$/.test(url.protocol) && url.pathname === '/' && url.search === ''
  return plain && url.hash === '' && url.username === '' && url.password === '' ? url : undefined
}

/**
 * A template for the origins of solutions, such as `http://{name}.localhost:8080`: the placeholder `{name}`, followed
 * by `suffix`. The port is '' if there is none.
 */
export type SolutionOrigin = { readonly protocol: 'http:' | 'https:'; readonly suffix: string; readonly port: string }

/**
 * Rejects names that browsers don't accept as a passkey domain: public suffixes, below which anyone can register names,
 * and names that can't be registered.
 */
function readPasskeyDomain(text: string): string | undefined {
  const domain = URL.parse(`https://${text}`)?.hostname
  if (domain === undefined || domain !== text.toLowerCase() || isIP(domain) !== 0) return undefined
  const top = /^(?:[a-z0-9-]+\.)+([a-z0-9-]+)$/.exec(domain)?.[1]
  return top === undefined || ['localhost', 'local', 'internal', 'intern'].includes(top) ? undefined : domain
}

function readSolutionOrigin(text: string): SolutionOrigin | undefined {
  const match = /^(https?:)\/\/\{name\}(\.[^/{}]+)\/?$/i.exec(text)
  const url = match ? readOrigin(`${match[1]}//name${match[2]}`) : undefined
  if (url === undefined) return undefined
  return { protocol: url.protocol as 'http:' | 'https:', suffix: url.hostname.slice('name'.length), port: url.port }
}

function readHosts(text: string): readonly string[] | undefined {
  const hosts = words(text).map((word) => word.toLowerCase())
  return hosts.every((host) => URL.parse(`http://${host}`)?.hostname === host) ? hosts : undefined
}

/** Parses a list of hosts, each with a port. See `readHostPort`. */
function readPlaces(text: string): readonly string[] | undefined {
  const places = words(text).map(readHostPort)
  return places.every((place) => place?.port) ? places.map((place) => `${place?.host}:${place?.port}`) : undefined
}

function readAddresses(text: string): readonly string[] | undefined {
  const addresses = words(text)
  try {
    proxyAddr.compile(addresses)
    return addresses
  } catch {
    return undefined
  }
}

function words(text: string): string[] {
  return text
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '')
}
