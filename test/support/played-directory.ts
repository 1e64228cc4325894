import type { Directory } from '../../host/directories/directories.ts'
import type { LdapServer, PlayedEntry } from './ldap-server.ts'

export const AD_BASE = 'DC=corp,DC=test'
const SEARCHER = `CN=searcher,OU=Service,${AD_BASE}`
const SEARCHER_PASSWORD = 'secret of the searcher'
export const SALES = `CN=Sales,OU=Groups,${AD_BASE}`
const NORTH = `CN=North,OU=Groups,${AD_BASE}`
export const EDITORS = `CN=Editors,OU=Groups,${AD_BASE}`

/** Anna's GUID. Windows displays it as {00112233-4455-6677-8899-aabbccddeeff}. */
export const ANNA_GUID = { text: '00112233-4455-6677-8899-aabbccddeeff', hex: '33221100554477668899aabbccddeeff' }
export const ANNA = `CN=Anna Berg,OU=People,${AD_BASE}`
const BRAM = `CN=Bram,OU=People,${AD_BASE}`

export function adPerson(name: string, guid: string, more: Partial<PlayedEntry['attributes']> = {}): PlayedEntry {
  return {
    dn: `CN=${name},OU=People,${AD_BASE}`,
    password: `password of ${name}`,
    attributes: {
      objectClass: ['user'],
      objectGUID: [Buffer.from(guid, 'hex')],
      sAMAccountName: [name.toLowerCase()],
      userAccountControl: ['512'],
      accountExpires: ['9223372036854775807'],
      ...more,
    },
  }
}

const group = (dn: string, member: readonly string[]): PlayedEntry => ({
  dn,
  attributes: { objectClass: ['group'], member },
})

/**
 * Directory entries with the attributes that Active Directory uses. Bram is in the group *Sales* only because he is in
 * *North*, which is nested in it.
 */
export function adEntries(): PlayedEntry[] {
  return [
    { dn: AD_BASE, attributes: { objectClass: ['domain'] } },
    { dn: SEARCHER, password: SEARCHER_PASSWORD, attributes: {} },
    adPerson('Anna Berg', ANNA_GUID.hex, {
      sAMAccountName: ['anna'],
      displayName: ['Anna Berg'],
      mail: ['anna@corp.test'],
    }),
    adPerson('Bram', '0102030405060708090a0b0c0d0e0f10'),
    adPerson('Carla', '1102030405060708090a0b0c0d0e0f10', { userAccountControl: ['514'] }),
    // This account expired on 2020-01-01.
    adPerson('Dora', '2102030405060708090a0b0c0d0e0f10', { accountExpires: ['132223104000000000'] }),
    adPerson('Twin', '3102030405060708090a0b0c0d0e0f10'),
    { ...adPerson('Twin', '4102030405060708090a0b0c0d0e0f10'), dn: `CN=Twin,OU=Other,${AD_BASE}` },
    adPerson('Star*', '5102030405060708090a0b0c0d0e0f10', { sAMAccountName: ['star*'] }),
    group(SALES, [
      ANNA,
      NORTH,
      `CN=Carla,OU=People,${AD_BASE}`,
      `CN=Dora,OU=People,${AD_BASE}`,
      `CN=Star*,OU=People,${AD_BASE}`,
    ]),
    group(NORTH, [BRAM]),
    group(EDITORS, [ANNA]),
  ]
}

/** Returns the directory settings for a server that contains `adEntries`. */
export function adDirectory(server: Pick<LdapServer, 'port'>, more: Partial<Directory> = {}): Directory {
  return {
    name: 'corp',
    urls: [`ldap://127.0.0.1:${server.port}`],
    startTls: false,
    ca: null,
    bindDn: SEARCHER,
    bindPassword: SEARCHER_PASSWORD,
    base: AD_BASE,
    filter: '(&(objectClass=user)(sAMAccountName={name}))',
    idAttribute: 'objectGUID',
    attributes: { username: 'sAMAccountName', displayName: 'displayName', email: 'mail' },
    groups: [
      { dn: SALES, permissions: ['Users'] },
      { dn: EDITORS, permissions: [{ name: 'Editors', solution: 'crm' }, 'Users'] },
    ],
    nestedGroups: false,
    groupBase: null,
    order: 100,
    ...more,
  }
}
