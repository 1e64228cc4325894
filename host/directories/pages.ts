import { PlatformError } from '../../runtime/errors.ts'
import type { PageRouter } from '../pages/page.ts'
import type { Directories } from './directories.ts'
import { ID_ATTRIBUTES, type IdAttribute, NAME } from './directory-settings.ts'

export type DirectoryPageParts = { readonly directories: Directories }

/** The initial field values for each kind of directory, by `idAttribute`. */
const USUAL: Readonly<Record<IdAttribute, Readonly<Record<'filter' | 'username' | 'displayName' | 'email', string>>>> =
  {
    objectGUID: {
      filter: `(&(objectCategory=person)(objectClass=user)(sAMAccountName=${NAME}))`,
      username: 'sAMAccountName',
      displayName: 'displayName',
      email: 'mail',
    },
    entryUUID: {
      filter: `(&(objectClass=inetOrgPerson)(uid=${NAME}))`,
      username: 'uid',
      displayName: 'cn',
      email: 'mail',
    },
  }

/**
 * The pages for directories (LDAP, Active Directory).
 * @param knownPermissions permissions and solutions to suggest for the members of a group
 */
export function addDirectoryPages(
  pages: PageRouter,
  { directories }: DirectoryPageParts,
  knownPermissions: () => Promise<object>,
): void {
  const part = 'directories' as const
  const forForms = async () => ({ known: await knownPermissions(), kinds: ID_ATTRIBUTES, usual: USUAL })

  pages.get('/directories', async (_ctx, text) => {
    const model = { directories: await directories.list() }
    return { template: 'directories', heading: text('admin.part.directories'), part, model }
  })

  // The path isn't `directories/new`, because a directory can have the name `new`.
  pages.get('/new-directory', async (_ctx, text) => {
    const model = { ...(await forForms()), directory: null }
    return { template: 'directory-new', heading: text('admin.directories.new'), part, model }
  })

  pages.get('/directories/:name', async (ctx) => {
    const { name = '' } = ctx.params as { name?: string }
    const directory = (await directories.list()).find((one) => one.name === name)
    if (directory === undefined) {
      throw new PlatformError('ERR_NOT_FOUND', 'This directory does not exist or was deleted.')
    }
    const groups = directory.groups.map(({ dn, permissions }) => ({ dn, permissions: permissions.map(permissionPair) }))
    const model = {
      ...(await forForms()),
      directory: { ...directory, groups },
      path: `/admin/api/directories/${name}`,
    }
    return { template: 'directory', heading: directory.name, part, model }
  })
}

/** `solution` is '' if the permission applies to all solutions. */
function permissionPair(permission: string | { readonly name: string; readonly solution: string }) {
  return typeof permission === 'string' ? { name: permission, solution: '' } : permission
}
