import { sendFragment } from './send-fragment.ts'

sendFragment()
