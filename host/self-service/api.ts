import type { Users } from '../../base/accounts/users.ts'
import { userTarget } from '../../base/api/targets.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { z } from '../../runtime/zod.ts'
import { type AdminRoute, route } from '../access/route.ts'
import { OPERATOR_KINDS, type OperatorLinks, SentLink } from '../links/send-links.ts'
import { findUser, namedUser, type OfUser } from '../users/find-user.ts'

export type LinkApiParts = { readonly users: Pick<Users, 'get'>; readonly operatorLinks: OperatorLinks }

const LinkForm = z
  .strictObject({
    kind: z.enum(OPERATOR_KINDS, { error: `must be one of ${OPERATOR_KINDS.join(', ')}` }),
    solution: z
      .string()
      .max(63)
      .optional()
      .describe(
        'the solution that the link opens. Default: `DEFAULT_SOLUTION`, or the only active solution with the authenticator `DEFAULT`',
      ),
  })
  .meta({ id: 'LinkForm' })

/** Routes that create one-time links. Users open them to choose a password or set up a second factor. */
export function linkRoutes({ users, operatorLinks }: LinkApiParts): AdminRoute[] {
  return [
    route(
      'POST /users/:uid/links',
      {
        summary:
          'Create a one-time link for a user to choose a password or set up a second factor, and email it. It replaces earlier links of the same kind',
        right: 'users:write',
        act: 'link',
        names: (of: OfUser) => namedUser(users, of),
        before: ({ params: { uid } }: OfUser) => findUser(users, uid),
        body: LinkForm,
        answers: { 201: SentLink },
      },
      async ({ found, body: { kind, solution }, names }) => {
        names.target = `${userTarget(found)} (${kind})`
        if (found.directory !== null && kind !== 'set-up') {
          const message = `The password of "${found.username}" is in the directory "${found.directory}". Change it there.`
          throw new PlatformError('ERR_REQUEST_INVALID', message)
        }
        return operatorLinks.fromOperator(kind, found, await operatorLinks.solutionFor(solution))
      },
    ),
  ]
}
