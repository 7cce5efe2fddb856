// browser: Debian's Chromium, headless, with nothing of its own on the network.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

const flags = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];

// One browser with a profile folder of its own; close() removes it.
export const browse = async (options = {}) => {
  const folder = mkdtempSync(join(tmpdir(), 'replygate-browser-'));
  const context = await chromium.launchPersistentContext(folder, { executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', headless: true, args: flags, locale: 'zh-CN', viewport: { width: 1280, height: 820 }, ...options });
  const close = async () => {
    await context.close();
    rmSync(folder, { recursive: true, force: true });
  };
  return { context, close };
};
