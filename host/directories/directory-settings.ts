import { X509Certificate } from 'node:crypto'
import { FilterParser } from 'ldapts'
import type { Permission } from '../../base/accounts/user-rules.ts'
import { isLoopback } from '../../base/config/host-names.ts'
import { UNFIT } from '../../runtime/visible-name.ts'
import { z } from '../../runtime/zod.ts'

/** A group in the directory, and the permissions that its members get. */
export type MappedGroup = { readonly dn: string; readonly permissions: readonly Permission[] }

export type DirectorySettings = {
  /** The servers as `ldaps://…` or `ldap://…`, without a path. They are tried in order. */
  readonly urls: readonly string[]
  /**
   * Whether `ldap://` connections are encrypted with StartTLS. It can be false only if all of these use loopback
   * addresses.
   */
  readonly startTls: boolean
  /** PEM certificates of the CAs to trust; null for the CAs that Node.js trusts. */
  readonly ca: string | null
  /** The account used for searches; null if searches are anonymous. */
  readonly bindDn: string | null
  readonly base: string
  /** Finds a person's entry; `{name}` is replaced by the escaped name that was typed. */
  readonly filter: string
  readonly idAttribute: IdAttribute
  readonly attributes: {
    readonly username: string
    readonly displayName: string | null
    readonly email: string | null
  }
  readonly groups: readonly MappedGroup[]
  /** Whether a mapped group also includes the members of its nested groups. */
  readonly nestedGroups: boolean
  /** The search base for nested groups; if null, `base` is used. Active Directory resolves nested groups itself. */
  readonly groupBase: string | null
  /** Directories with a lower number are searched first. */
  readonly order: number
}

export const ID_ATTRIBUTES = ['objectGUID', 'entryUUID'] as const
/** `objectGUID` also identifies an Active Directory, where groups are looked up differently. */
export type IdAttribute = (typeof ID_ATTRIBUTES)[number]

/**
 * The steps of a test, in order: the servers can be reached, the bind account can sign in, the base and the mapped
 * groups exist, the filter finds the person, and the person may sign in.
 */
export const TEST_STEPS = ['connection', 'bind', 'base', 'groups', 'person', 'membership'] as const
export type TestStepName = (typeof TEST_STEPS)[number]

/** The placeholder in the filter for the name that was typed. */
export const NAME = '{name}'

const MOST_URLS = 5
const MOST_GROUPS = 50
const MOST_PERMISSIONS = 100
const LONGEST = 1000
const LONGEST_FILTER = 2000
const LONGEST_CA = 200_000
const LONGEST_PASSWORD = 1000

/** A directory's name, which is part of API paths and audit entries. */
export const DirectoryName = z.string().regex(/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/, {
  error: 'must be 1 to 63 lowercase letters, digits and "-", and must start and end with a letter or digit',
})

const Text = z
  .string()
  .min(1, { error: 'must not be empty' })
  .max(LONGEST)
  .refine((text) => !UNFIT.test(text), { error: 'must not contain control characters or line breaks' })

const Dn = Text.refine(isDn, { error: 'must be a distinguished name such as "ou=People,dc=example,dc=org"' })

const Attribute = z.string().regex(/^[A-Za-z][A-Za-z0-9-]{0,99}$/, {
  error: 'must be the name of an attribute, such as "uid"',
})

const MappedPermission = z.union([
  z.string().min(1).max(LONGEST),
  z.strictObject({ name: z.string().min(1).max(LONGEST), solution: z.string().min(1).max(LONGEST) }),
])

const Group = z.strictObject({ dn: Dn, permissions: z.array(MappedPermission).min(1).max(MOST_PERMISSIONS) })

const Url = z
  .string()
  .max(LONGEST)
  .refine((text) => tidyUrl(text) !== null, {
    error:
      'must be "ldaps://" or "ldap://", followed by a host and optionally a port, such as "ldaps://dc1.example.org"',
  })

export const DirectoryFields = z.strictObject({
  urls: z
    .array(Url)
    .min(1, { error: 'must have at least one URL' })
    .max(MOST_URLS)
    .describe('`ldaps://host[:port]` or `ldap://host[:port]`; tried in order'),
  startTls: z
    .boolean()
    .default(true)
    .describe('whether to encrypt `ldap://` connections with StartTLS; can be false only for loopback addresses'),
  ca: z
    .string()
    .max(LONGEST_CA)
    .refine(isCertificates, { error: 'must be one or more PEM certificates' })
    .nullable()
    .default(null)
    .describe('trusted CA certificates in PEM format; null for the CAs that Node.js trusts'),
  bindDn: Text.refine((text) => /[=@\\]/.test(text), {
    error: 'must be a distinguished name, or for Active Directory name@domain or DOMAIN\\name',
  })
    .nullable()
    .default(null)
    .describe('the account that the host uses to search the directory; null for anonymous searches'),
  bindPassword: z
    .string()
    .min(1, { error: 'must not be empty' })
    .max(LONGEST_PASSWORD)
    .optional()
    .meta({ writeOnly: true })
    .describe('if absent, the stored password is kept; required if `urls` or `bindDn` changes'),
  base: Dn.describe('the DN below which the host searches for people'),
  filter: z
    .string()
    .max(LONGEST_FILTER)
    .refine(isFilter, {
      error: 'must be an LDAP filter in parentheses that contains {name}, such as "(uid={name})"',
    })
    .describe('finds a person’s entry; `{name}` is replaced with the username that the person entered'),
  idAttribute: z
    .enum(ID_ATTRIBUTES, { error: `must be one of ${ID_ATTRIBUTES.join(', ')}` })
    .describe(
      'the attribute that permanently identifies an entry: `objectGUID` in Active Directory, `entryUUID` elsewhere',
    ),
  attributes: z
    .strictObject({
      username: Attribute,
      displayName: Attribute.nullable().default(null),
      email: Attribute.nullable().default(null),
    })
    .describe('the attributes that contain the username, the full name and the email address'),
  groups: z
    .array(Group)
    .min(1, { error: 'must have at least one group: only members of a mapped group can sign in' })
    .max(MOST_GROUPS)
    .describe('the groups whose members can sign in, with the permissions that members get'),
  nestedGroups: z
    .boolean()
    .default(false)
    .describe('whether members of nested groups are treated as members of the mapped group'),
  groupBase: Dn.nullable()
    .default(null)
    .describe(
      'the DN below which the host searches for groups; null for the value of `base`. Used only if `nestedGroups` is true and `idAttribute` is `entryUUID`',
    ),
  order: z.int().min(1).max(1000).default(100).describe('directories with a lower number are searched first'),
})

export const DirectoryForm = DirectoryFields.refine(({ startTls, urls }) => startTls || urls.every(isPlainAllowed), {
  path: ['startTls'],
  error: 'can be false only if the hosts of all ldap:// URLs are loopback addresses',
})
  .refine(({ bindDn, bindPassword }) => bindDn !== null || bindPassword === undefined, {
    path: ['bindPassword'],
    error: 'requires bindDn',
  })
  .meta({ id: 'DirectoryForm' })

export type DirectoryForm = z.output<typeof DirectoryForm>

/** The normalized URL; null if it isn't a valid LDAP URL. */
function tidyUrl(text: string): string | null {
  const url = URL.parse(text.trim())
  if (url === null || !['ldap:', 'ldaps:'].includes(url.protocol)) return null
  const { protocol, hostname, port, username, password, pathname, search, hash } = url
  const rest = `${username}${password}${pathname.replace(/^\/$/, '')}${search}${hash}`
  const isHost = /^(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])$/.test(hostname)
  return rest === '' && isHost ? `${protocol}//${hostname.toLowerCase()}${port === '' ? '' : `:${port}`}` : null
}

/** Whether the connection doesn't need StartTLS, because it already uses TLS or doesn't leave the machine. */
function isPlainAllowed(url: string): boolean {
  const { protocol, hostname } = new URL(tidyUrl(url) ?? 'ldaps:')
  // Don't accept subdomains of localhost: on some machines, DNS resolves them.
  return protocol === 'ldaps:' || (isLoopback(hostname) && !hostname.endsWith('.localhost'))
}

export function tidyUrls(urls: readonly string[]): string[] {
  return urls.map((url) => tidyUrl(url) ?? url)
}

export function isDn(text: string): boolean {
  return /^\s*[A-Za-z0-9.-]+\s*=/.test(text)
}

function isFilter(text: string): boolean {
  const count = (paren: string) => text.split(paren).length
  // Check the parentheses, because the library also accepts unclosed ones.
  if (!text.startsWith('(') || count('(') !== count(')') || !text.includes(NAME)) return false
  try {
    FilterParser.parseString(text.replaceAll(NAME, 'name'))
    return true
  } catch {
    return false
  }
}

function isCertificates(text: string): boolean {
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  const rest = blocks.reduce((left, block) => left.replace(block, ''), text)
  if (blocks.length === 0 || rest.trim() !== '') return false
  try {
    for (const block of blocks) new X509Certificate(block)
    return true
  } catch {
    return false
  }
}
