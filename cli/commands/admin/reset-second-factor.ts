import { CommandError, command } from '../../../base/terminal/command.ts'
import { whyNot } from '../../../base/terminal/run-service.ts'
import { readSettings } from '../../../host/config/settings.ts'

export const adminResetSecondFactorCommand = command({
  summary: 'remove the admin account’s second factor if it is lost',
  arguments: {},
  options: {},
  notes:
    () => `Run this command on the host’s machine, with the same environment variables as "solhost start". The host can keep
running. The command removes the authenticator app and the recovery codes, signs the admin account out, and adds an
entry to the audit log. If ADMIN_SECOND_FACTOR is "required", the admin must set up a new app at the next sign-in.
`,
  async run(_given, terminal) {
    const { resetAdminFactors } = await import('../../../host/admin-factors/reset-admin-factors.ts')
    try {
      const hadOne = await resetAdminFactors(readSettings(terminal.environment))
      if (!hadOne) {
        terminal.out('The admin account has no second factor. Nothing was changed.\n')
        return 'done'
      }
    } catch (error) {
      throw new CommandError('failed', whyNot(error), { cause: error })
    }
    terminal.out(
      'Removed the second factor of the admin account.\nNext: sign in with the password, then set up a new second factor.\n',
    )
    return 'done'
  },
})
