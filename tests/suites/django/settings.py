"""Django's settings for its own suite: the server that the environment names, and our runner."""

import os

SERVER = {
    "ENGINE": "django.db.backends.postgresql",
    "HOST": os.environ["PGHOST"],
    "PORT": os.environ["PGPORT"],
    "USER": os.environ["PGUSER"],
}
DATABASES = {
    "default": {**SERVER, "NAME": "django"},
    "other": {**SERVER, "NAME": "django2"},
}
TEST_RUNNER = "noting.Runner"
SECRET_KEY = "of no secret"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
USE_TZ = False
