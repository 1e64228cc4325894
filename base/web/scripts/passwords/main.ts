import { takeOverShownPasswords } from '../show-password.ts'

takeOverShownPasswords()
