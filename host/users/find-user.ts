import { noUser, type User, type Users } from '../../base/accounts/users.ts'
import { userTarget } from '../../base/api/targets.ts'

type StoredUsers = Pick<Users, 'get'>

/** @throws ERR_USER_NOT_FOUND */
export async function findUser(users: StoredUsers, uid: string): Promise<User> {
  const user = await users.get(uid)
  if (user === null) throw noUser(uid)
  return user
}

export type OfUser = { readonly params: { readonly uid: string } }

/** Returns the target to record in the audit log. The request's path contains the user's uid. */
export async function namedUser(users: StoredUsers, { params: { uid } }: OfUser): Promise<{ readonly target: string }> {
  const user = await users.get(uid)
  return { target: user === null ? `uid:${uid}` : userTarget(user) }
}
