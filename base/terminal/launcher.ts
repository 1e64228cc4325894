/**
 * Replies to the launcher (bin/run-with.js), which checks after a signal whether this process still responds. Call it
 * before anything that may take a long time.
 */
export function answerLauncher(): void {
  process.on('message', () => {
    // Ignore errors, because the launcher may have exited by now.
    if (process.connected) process.send?.('here', () => {})
  })
}
