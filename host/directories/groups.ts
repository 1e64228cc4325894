import { EqualityFilter, ExtensibleFilter, type Filter, OrFilter, type SearchOptions } from 'ldapts'
import type { Permission } from '../../base/accounts/user-rules.ts'
import type { Connection } from './connection.ts'
import type { Directory } from './directories.ts'
import type { MappedGroup } from './directory-settings.ts'
import type { FoundEntry } from './entries.ts'

/** Active Directory's matching rule for nested groups (LDAP_MATCHING_RULE_IN_CHAIN). */
const IN_CHAIN = '1.2.840.113556.1.4.1941'
/** Maximum depth of nested groups. */
const DEEPEST = 10
/** Maximum groups per person. */
const MOST_GROUPS = 500

type Person = Pick<FoundEntry, 'dn' | 'username'>

/** Returns the mapped groups that a person is a member of. */
export async function groupsOf(
  connection: Connection,
  directory: Directory,
  person: Person,
): Promise<readonly MappedGroup[]> {
  const { groups, idAttribute, nestedGroups } = directory
  const isActiveDirectory = idAttribute === 'objectGUID'
  if (nestedGroups && !isActiveDirectory) return walk(connection, directory, person)
  const filter = isActiveDirectory ? filterOfActiveDirectory(person, nestedGroups) : filterFor([person.dn], person)
  const isMember = await Promise.all(groups.map(({ dn }) => connection.find(dn, filter)))
  return groups.filter((_group, at) => isMember[at] !== null)
}

export function permissionsOf(groups: readonly MappedGroup[]): Permission[] {
  const all = groups.flatMap(({ permissions }) => permissions)
  const keyOf = (one: Permission) => (typeof one === 'string' ? ` ${one}` : `${one.solution} ${one.name}`)
  return [...new Map(all.map((one) => [keyOf(one), one])).values()]
}

function filterOfActiveDirectory({ dn }: Person, isNested: boolean): Filter {
  if (!isNested) return new EqualityFilter({ attribute: 'member', value: dn })
  return new ExtensibleFilter({ matchType: 'member', rule: IN_CHAIN, value: dn })
}

/** Returns the filter for groups that list any of these members. @param username null omits POSIX groups */
function filterFor(members: readonly string[], { username }: Pick<Person, 'username'>): Filter {
  const equal = (attribute: string, value: string) => new EqualityFilter({ attribute, value })
  const filters = members.flatMap((dn) => [equal('member', dn), equal('uniqueMember', dn)])
  // POSIX groups list their members by username.
  if (username !== null) filters.push(equal('memberUid', username))
  return new OrFilter({ filters })
}

/**
 * Resolves nested groups level by level, because standard LDAP has no search for this. It starts with the groups that
 * list the person.
 */
async function walk(connection: Connection, directory: Directory, person: Person): Promise<readonly MappedGroup[]> {
  const { base, groupBase, groups } = directory
  const mapped = await Promise.all(groups.map(({ dn }) => connection.find(dn, null)))
  const seen = new Set<string>()
  let members = [person.dn]
  for (let level = 0; level < DEEPEST && members.length > 0 && seen.size < MOST_GROUPS; level++) {
    const filter = filterFor(members, level === 0 ? person : { username: null })
    const asked: SearchOptions = { scope: 'sub', filter, attributes: ['1.1'], sizeLimit: MOST_GROUPS }
    const found = (await connection.search(groupBase ?? base, asked)).map(({ dn }) => dn)
    members = found.filter((dn) => !seen.has(dn)).slice(0, MOST_GROUPS - seen.size)
    for (const dn of members) seen.add(dn)
  }
  return groups.filter((_group, at) => seen.has(mapped[at] ?? ''))
}
