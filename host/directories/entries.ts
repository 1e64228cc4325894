import { type Entry, EqualityFilter, Filter } from 'ldapts'
import type { Connection } from './connection.ts'
import type { Directory } from './directories.ts'
import { type DirectorySettings, type IdAttribute, NAME } from './directory-settings.ts'

export type FoundEntry = {
  readonly dn: string
  /** Null if the entry has no usable id. */
  readonly id: string | null
  /** Null if the entry has no username. */
  readonly username: string | null
  readonly displayName: string | null
  readonly email: string | null
  readonly isDisabled: boolean
}

/** Attributes that show whether an account is disabled, locked or expired. */
const STATE = [
  'userAccountControl',
  'accountExpires',
  'pwdAccountLockedTime',
  'nsAccountLock',
  'loginDisabled',
] as const
/** ADS_UF_ACCOUNTDISABLE in `userAccountControl`. */
const DISABLED = 2
/** The value of `accountExpires` for an account that never expires. */
const NEVER = 9_223_372_036_854_775_807n
/** Milliseconds from 1601, where Windows timestamps start, to 1970. */
const WINDOWS_EPOCH = 11_644_473_600_000
/** The value of `pwdAccountLockedTime` for an account that an administrator has locked. */
const LOCKED = '000001010000Z'
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Finds at most two entries with this name. A second one shows that the name isn't unique. */
export async function findByName(connection: Connection, directory: Directory, name: string): Promise<FoundEntry[]> {
  return find(connection, directory, { base: directory.base, scope: 'sub', filter: filterFor(directory, name) })
}

/**
 * Finds the entry with this id, if it still matches the filter.
 * @returns null if there is none
 */
export async function findById(connection: Connection, directory: Directory, id: string): Promise<FoundEntry | null> {
  const { base, idAttribute } = directory
  const value = idAttribute === 'objectGUID' ? guidBytes(id) : id
  const filter = new EqualityFilter({ attribute: idAttribute, value })
  const [entry, ...others] = await find(connection, directory, { base, scope: 'sub', filter })
  if (entry === undefined || others.length > 0 || entry.username === null) return null
  const isSame = { base: entry.dn, scope: 'base', filter: filterFor(directory, entry.username) } as const
  return (await find(connection, directory, isSame)).length === 1 ? entry : null
}

/** The filter for a name, whose special characters are escaped (RFC 4515, section 3). */
export function filterFor({ filter }: Pick<DirectorySettings, 'filter'>, name: string): string {
  return filter.replaceAll(NAME, () => Filter.escape(name))
}

type Asked = {
  readonly base: string
  readonly scope: 'sub' | 'base'
  readonly filter: string | Filter
}

async function find(connection: Connection, { idAttribute, attributes }: Directory, asked: Asked) {
  const { username, displayName, email } = attributes
  const wanted = [idAttribute, username, displayName, email, ...STATE].filter((name) => name !== null)
  const entries = await connection.search(asked.base, {
    scope: asked.scope,
    filter: asked.filter,
    attributes: [...new Set(wanted)],
    explicitBufferAttributes: ['objectGUID'],
    sizeLimit: 2,
  })
  return entries.map((entry) => {
    const text = (name: string | null) => (name === null ? null : firstText(entry, name))
    return {
      dn: entry.dn,
      id: idOf(entry, idAttribute),
      username: text(username),
      displayName: text(displayName),
      email: text(email),
      isDisabled: isDisabled(entry, Date.now()),
    }
  })
}

/** Attribute names are case-insensitive: servers return them as spelled in their schema. */
function valuesOf(entry: Entry, attribute: string): readonly (string | Buffer)[] {
  const name = Object.keys(entry).find((one) => one.toLowerCase() === attribute.toLowerCase())
  const value = name === undefined ? [] : entry[name]
  return value === undefined ? [] : Array.isArray(value) ? value : [value]
}

function firstText(entry: Entry, attribute: string): string | null {
  const [value] = valuesOf(entry, attribute)
  const text = value?.toString() ?? ''
  return text.trim() === '' ? null : text
}

function idOf(entry: Entry, attribute: IdAttribute): string | null {
  const [value, ...others] = valuesOf(entry, attribute)
  if (value === undefined || others.length > 0) return null
  if (attribute === 'objectGUID') return Buffer.isBuffer(value) && value.length === 16 ? guidText(value) : null
  const text = value.toString().toLowerCase()
  return UUID.test(text) ? text : null
}

/**
 * The bytes of a GUID in the order in which Windows stores and writes them. The first three fields are little-endian.
 */
const GUID_ORDER = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15] as const

function guidText(bytes: Buffer): string {
  const hex = Buffer.from(GUID_ORDER.map((at) => bytes[at] ?? 0)).toString('hex')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

function guidBytes(text: string): Buffer {
  const bytes = Buffer.from(text.replaceAll('-', ''), 'hex')
  return Buffer.from(GUID_ORDER.map((at) => bytes[at] ?? 0))
}

function isDisabled(entry: Entry, now: number): boolean {
  const text = (name: (typeof STATE)[number]) => firstText(entry, name) ?? ''
  const control = Number(text('userAccountControl'))
  if (Number.isInteger(control) && (control & DISABLED) !== 0) return true
  const expires = /^\d{1,19}$/.test(text('accountExpires')) ? BigInt(text('accountExpires')) : 0n
  if (expires > 0n && expires < NEVER && Number(expires / 10_000n) - WINDOWS_EPOCH <= now) return true
  if (text('pwdAccountLockedTime') === LOCKED) return true
  return [text('nsAccountLock'), text('loginDisabled')].some((value) => value.toLowerCase() === 'true')
}
