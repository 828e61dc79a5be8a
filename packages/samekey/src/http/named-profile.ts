/** Profiles by their names, and the row of the option that takes them. */

import { OptionsError } from '../core/errors.ts';
import { type Row, shown } from '../core/options.ts';
import type { Profile } from './profile.ts';
import { ietf } from './profiles/ietf.ts';
import { stripe } from './profiles/stripe.ts';

/** What a route may name in the place of a profile. */
export type ProfileName = 'ietf' | 'stripe';

/** The profiles that a route can name. */
const PROFILES: Readonly<Record<ProfileName, () => Profile>> = { ietf, stripe };

function profileOf(profile: unknown): Profile {
  if (typeof profile === 'string' && Object.hasOwn(PROFILES, profile))
    return PROFILES[profile as ProfileName]();
  if (typeof profile === 'function')
    throw new OptionsError(
      'profile is a function: call it, as in profile: stripe(), or name it, as in profile: "stripe".',
    );
  if (typeof (profile as Partial<Profile> | null)?.render !== 'function') {
    const names = Object.keys(PROFILES).map((name) => JSON.stringify(name));
    throw new OptionsError(`profile is ${names.join(', ')}, or ietf({ … }); it is ${shown(profile)}.`);
  }
  return profile as Profile;
}

/** The row of `profile`. */
export const PROFILE_ROW: Row<Profile, Profile> = { read: profileOf, absent: () => ietf() };
